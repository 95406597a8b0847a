// AllocatorStats: what an allocator counts, named as PyTorch's memory_stats() names it where both have it.
//
//   stats.allocated.all.current    torch.cuda.memory_allocated()         stats.allocated.all.peak
//   max_memory_allocated() stats.reserved.all.current     torch.cuda.memory_reserved()
//
// Peaks of different counters can be of different moments: never subtract one from another. Allocators without a small
// and a large pool count everything as large.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ullage/base/bytes.h"
#include "ullage/timeline/counters.h"

namespace ullage {

// An amount that goes up and down, its highest value since reset_peak(), and the sums of all ups and downs.
template <class T>
struct Tally {
  T current{};
  T peak{};
  T increased{};
  T decreased{};

  void add(T amount) {
    current += amount;
    increased += amount;
    peak = std::max(peak, current);
  }
  void subtract(T amount) {
    current -= amount;
    decreased += amount;
  }
  // One change of either sign, as when a merge takes two free blocks away and puts one back.
  void change(T amount) { amount < T{} ? subtract(T{} - amount) : add(amount); }
  void reset_peak() { peak = current; }
};

enum class PoolSide : uint8_t { small, large };

template <class T>
struct PoolTally {
  Tally<T> all;
  Tally<T> small;
  Tally<T> large;

  Tally<T>& side(PoolSide which) { return which == PoolSide::small ? small : large; }
  void add(PoolSide which, T amount) { all.add(amount), side(which).add(amount); }
  void subtract(PoolSide which, T amount) { all.subtract(amount), side(which).subtract(amount); }
  void change(PoolSide which, T amount) { all.change(amount), side(which).change(amount); }
  void reset_peak() { all.reset_peak(), small.reset_peak(), large.reset_peak(); }
};

struct AllocatorStats {
  PoolTally<Bytes> requested;           // requested_bytes
  PoolTally<Bytes> allocated;           // allocated_bytes
  PoolTally<Bytes> active;              // active_bytes
  PoolTally<Bytes> reserved;            // reserved_bytes
  PoolTally<Bytes> inactive_split;      // inactive_split_bytes: free parts of segments that are partly in use
  PoolTally<int64_t> allocations;       // allocation
  PoolTally<int64_t> active_blocks;     // active
  PoolTally<int64_t> segments;          // segment; expandable memory is not counted
  PoolTally<int64_t> inactive_splits;   // inactive_split
  Tally<int64_t> oversize_allocations;  // blocks of at least max_split_size
  Tally<int64_t> oversize_segments;
  int64_t num_alloc_retries = 0;  // the cache was released and the device asked again
  int64_t num_ooms = 0;
  int64_t num_sync_all_streams = 0;
  int64_t num_device_alloc = 0;  // cudaMalloc and map calls that succeeded
  int64_t num_device_free = 0;

  CounterValues current() const {
    return {requested.all.current, allocated.all.current, active.all.current, reserved.all.current};
  }
  CounterValues peaks() const { return {requested.all.peak, allocated.all.peak, active.all.peak, reserved.all.peak}; }

  void reset_peak() {
    for (auto* bytes : {&requested, &allocated, &active, &reserved, &inactive_split}) bytes->reset_peak();
    for (auto* counts : {&allocations, &active_blocks, &segments, &inactive_splits}) counts->reset_peak();
    oversize_allocations.reset_peak();
    oversize_segments.reset_peak();
  }
};

}  // namespace ullage
