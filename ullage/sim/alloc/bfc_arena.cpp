#include "ullage/sim/alloc/bfc_arena.h"

#include <algorithm>
#include <utility>

#include "ullage/base/result.h"

namespace ullage {

namespace {

constexpr Bytes kQuantum = Bytes(256);
constexpr double kBackpedal = 0.9;  // what is asked for after the device refused a region

}  // namespace

BfcArena::BfcArena(const BfcRules& rules, Bytes capacity)
    : rules_(rules), device_(capacity), next_region_(align_up(rules.first_region, kQuantum)) {}

AllocResult BfcArena::alloc(BlockId id, Bytes requested, uint32_t /*stream*/, PoolId /*pool*/) {
  if (requested <= Bytes(0)) return {};
  const Bytes rounded = align_up(requested, kQuantum);
  Index found = find_free(rounded);
  if (found == kNone && extend(rounded)) found = find_free(rounded);
  if (found == kNone && release_free_regions(rounded) && extend(rounded)) found = find_free(rounded);
  if (found == kNone) {
    ++stats_.num_ooms;
    out_of_memory_ = {.requested = requested,
                      .rounded = rounded,
                      .wanted = rounded,
                      .device_free = device_.free_bytes(),
                      .allocated = stats_.allocated.all.current,
                      .reserved = stats_.reserved.all.current,
                      .allowed = rules_.limit};
    return {.served = false};
  }
  erase_free(found);
  const int64_t surplus = chunks_[found].size - rounded.value;
  if (chunks_[found].size >= rounded.value * 2 || surplus >= rules_.max_waste.value) {
    const Chunk whole = chunks_[found];
    Index rest = kNone;
    if (spare_chunks_.empty()) {
      rest = static_cast<Index>(chunks_.size());
      chunks_.emplace_back();
    } else {
      rest = spare_chunks_.back();
      spare_chunks_.pop_back();
    }
    chunks_[rest] = {.address = whole.address + rounded.value,
                     .size = surplus,
                     .prev = found,
                     .next = whole.next,
                     .region = whole.region};
    if (whole.next != kNone) chunks_[whole.next].prev = rest;
    chunks_[found].next = rest;
    chunks_[found].size = rounded.value;
    insert_free(rest);
  }
  Chunk& chunk = chunks_[found];
  chunk.in_use = true;
  chunk.requested = requested.value;
  if (chunk_of_.size() <= id.index) chunk_of_.resize(std::max<size_t>(id.index + 1, chunk_of_.size() * 2), kNone);
  check(chunk_of_[id.index] == kNone, "a block id is not allocated twice");
  chunk_of_[id.index] = found;
  stats_.allocations.add(PoolSide::large, 1);
  stats_.active_blocks.add(PoolSide::large, 1);
  stats_.requested.add(PoolSide::large, requested);
  stats_.allocated.add(PoolSide::large, Bytes(chunk.size));
  stats_.active.add(PoolSide::large, Bytes(chunk.size));
  return {true, Bytes(chunk.size)};
}

FreeResult BfcArena::free(BlockId id) {
  if (id.index >= chunk_of_.size() || chunk_of_[id.index] == kNone) return FreeResult::complete;
  Index index = std::exchange(chunk_of_[id.index], kNone);
  Chunk& chunk = chunks_[index];
  chunk.in_use = false;
  stats_.allocations.subtract(PoolSide::large, 1);
  stats_.active_blocks.subtract(PoolSide::large, 1);
  stats_.requested.subtract(PoolSide::large, Bytes(chunk.requested));
  stats_.allocated.subtract(PoolSide::large, Bytes(chunk.size));
  stats_.active.subtract(PoolSide::large, Bytes(chunk.size));
  if (chunk.next != kNone && !chunks_[chunk.next].in_use) {
    erase_free(chunk.next);
    absorb_next(index);
  }
  if (chunk.prev != kNone && !chunks_[chunk.prev].in_use) {
    index = chunk.prev;
    erase_free(index);
    absorb_next(index);
  }
  insert_free(index);
  return FreeResult::complete;
}

BfcArena::Index BfcArena::find_free(Bytes rounded) {
  const FreeSet::Cursor at = free_.lower_bound(rounded.value);
  return free_.valid(at) ? free_[at].block : kNone;
}

// Takes one more region from the device: the next size in the series, or as much as the limit and the device still
// have.
bool BfcArena::extend(Bytes rounded) {
  const Bytes left = rules_.limit - stats_.reserved.all.current;
  const Bytes available(left.value / kQuantum.value * kQuantum.value);
  if (rounded > available) return false;
  bool has_doubled = false;
  Bytes size = rounded;
  if (!rules_.grows_exactly) {
    while (rounded > next_region_) {
      next_region_ = next_region_ * 2;
      has_doubled = true;
    }
    size = std::min(next_region_, available);
  }
  std::optional<int64_t> address = device_.allocate(size);
  while (!address) {
    const Bytes less = align_up(Bytes(static_cast<int64_t>(kBackpedal * static_cast<double>(size.value))), kQuantum);
    if (less < rounded || less >= size) return false;
    size = less;
    address = device_.allocate(size);
  }
  if (!has_doubled && !rules_.grows_exactly) next_region_ = next_region_ * 2;
  chunks_.push_back({.address = *address, .size = size.value, .region = ++regions_made_});
  stats_.segments.add(PoolSide::large, 1);
  stats_.reserved.add(PoolSide::large, size);
  ++stats_.num_device_alloc;
  log_segment(SegmentAction::alloc, size, *address);
  insert_free(static_cast<Index>(chunks_.size() - 1));
  return true;
}

std::vector<BfcArena::Index> BfcArena::free_regions() const {
  std::vector<Index> whole;
  for (FreeSet::Cursor at = free_.first(); free_.valid(at); at = free_.next(at)) {
    if (!is_split(chunks_[free_[at].block])) whole.push_back(free_[at].block);
  }
  return whole;
}

bool BfcArena::release_free_regions(Bytes rounded) {
  if (!rules_.releases_when_full) return false;
  const std::vector<Index> whole = free_regions();
  Bytes freed;
  for (const Index index : whole) freed += Bytes(chunks_[index].size);
  if (whole.empty() || rules_.limit - stats_.reserved.all.current + freed < rounded) return false;
  for (const Index index : whole) release_region(index);
  return true;
}

void BfcArena::empty_cache() {
  bool has_released = false;
  for (const Index index : free_regions()) {
    if (rules_.keeps_first_region && chunks_[index].region == 1) continue;
    release_region(index);
    has_released = true;
  }
  if (has_released && rules_.growth_after_release > Bytes(0)) next_region_ = rules_.growth_after_release;
}

void BfcArena::release_region(Index whole) {
  erase_free(whole);
  const Bytes size(chunks_[whole].size);
  device_.free(chunks_[whole].address, size);
  stats_.segments.subtract(PoolSide::large, 1);
  stats_.reserved.subtract(PoolSide::large, size);
  ++stats_.num_device_free;
  log_segment(SegmentAction::free, size, chunks_[whole].address);
  chunks_[whole] = Chunk{};
  spare_chunks_.push_back(whole);
}

void BfcArena::insert_free(Index index) {
  const Chunk& chunk = chunks_[index];
  free_.insert({.size = chunk.size, .address = chunk.address, .block = index});
  if (!is_split(chunk)) return;
  stats_.inactive_split.add(PoolSide::large, Bytes(chunk.size));
  stats_.inactive_splits.add(PoolSide::large, 1);
}

// Before any link of the chunk changes, so that what is taken from the statistics is what was put there.
void BfcArena::erase_free(Index index) {
  const Chunk& chunk = chunks_[index];
  free_.erase({.size = chunk.size, .address = chunk.address});
  if (!is_split(chunk)) return;
  stats_.inactive_split.subtract(PoolSide::large, Bytes(chunk.size));
  stats_.inactive_splits.subtract(PoolSide::large, 1);
}

void BfcArena::absorb_next(Index index) {
  const Index gone = chunks_[index].next;
  chunks_[index].size += chunks_[gone].size;
  chunks_[index].next = chunks_[gone].next;
  if (chunks_[gone].next != kNone) chunks_[chunks_[gone].next].prev = index;
  chunks_[gone] = Chunk{};
  spare_chunks_.push_back(gone);
}

std::vector<PlacedBlock> BfcArena::layout() const {
  std::vector<PlacedBlock> placed;
  for (const Chunk& first : chunks_) {
    if (first.size == 0 || first.prev != kNone) continue;
    for (const Chunk* chunk = &first;; chunk = &chunks_[chunk->next]) {
      placed.push_back({.segment = first.address,
                        .address = chunk->address,
                        .size = Bytes(chunk->size),
                        .state = chunk->in_use ? BlockState::allocated : BlockState::free});
      if (chunk->next == kNone) break;
    }
  }
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return placed;
}

}  // namespace ullage
