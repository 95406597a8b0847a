#include "ullage/sim/alloc/alloc_ideal.h"

#include <algorithm>
#include <utility>

namespace ullage {

AllocResult IdealAllocator::alloc(BlockId id, Bytes requested, uint32_t /*stream*/, PoolId /*pool*/) {
  if (requested <= Bytes(0)) return {};
  const Bytes in_use = stats_.requested.all.current;
  if (requested > capacity_ - in_use) {
    ++stats_.num_ooms;
    out_of_memory_ = {.requested = requested,
                      .rounded = requested,
                      .wanted = requested,
                      .device_free = capacity_ - stats_.reserved.all.current,
                      .allocated = in_use,
                      .reserved = stats_.reserved.all.current,
                      .allowed = {}};
    return {.served = false};
  }
  if (live_.size() <= id.index) live_.resize(std::max<size_t>(id.index + 1, live_.size() * 2));
  check(live_[id.index] == Bytes(0), "a block id is not allocated twice");
  live_[id.index] = requested;
  stats_.allocations.add(PoolSide::large, 1);
  stats_.active_blocks.add(PoolSide::large, 1);
  for (auto* tally : {&stats_.requested, &stats_.allocated, &stats_.active}) tally->add(PoolSide::large, requested);
  const Bytes growth = stats_.requested.all.current - stats_.reserved.all.current;
  if (growth > Bytes(0)) stats_.reserved.add(PoolSide::large, growth);
  return {true, requested};
}

FreeResult IdealAllocator::free(BlockId id) {
  if (id.index >= live_.size() || live_[id.index] == Bytes(0)) return FreeResult::complete;
  const Bytes size = std::exchange(live_[id.index], Bytes(0));
  stats_.allocations.subtract(PoolSide::large, 1);
  stats_.active_blocks.subtract(PoolSide::large, 1);
  for (auto* tally : {&stats_.requested, &stats_.allocated, &stats_.active}) tally->subtract(PoolSide::large, size);
  return FreeResult::complete;
}

}  // namespace ullage
