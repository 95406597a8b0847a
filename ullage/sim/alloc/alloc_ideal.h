// IdealAllocator: the lower bound. No rounding, no fragmentation, nothing kept that was not needed: reserved is the
// peak of requested so far. No allocator that does not move or share memory can do with less.
#pragma once

#include <vector>

#include "ullage/sim/allocator.h"

namespace ullage {

class IdealAllocator final : public Allocator {
 public:
  explicit IdealAllocator(Bytes capacity = kUnlimited) : capacity_(capacity) {}

  AllocResult alloc(BlockId id, Bytes requested, uint32_t stream = 0, PoolId pool = {}) override;
  FreeResult free(BlockId id) override;

 private:
  Bytes capacity_;
  std::vector<Bytes> live_;  // by BlockId; 0 when not alive
};

}  // namespace ullage
