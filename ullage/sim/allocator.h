// Allocator: the rules by which a framework turns requests into memory of a GPU, played without a GPU.
//
//   UL_TRY(auto allocator, make_allocator({.kind = AllocatorKind::pytorch, .capacity = GiB(24)}));
//   AllocResult result = allocator->alloc(block, MiB(5));          // served; 5 MiB of a 20 MiB segment
//   allocator->free(block);                                        // cached: reserved stays 20 MiB
//   allocator->stats().reserved.all.peak;
//
//   segment (one driver allocation)         reserved = all of it
//   +-------------+--------+---------------------------+
//   | b1 in use   | b2 in  | free                      |   the low addresses go to the request,
//   | 5 MiB       | 2 MiB  | 13 MiB, "inactive split"  |   the rest is a free block at the high end
//   +-------------+--------+---------------------------+
//   0             5        7                          20
//
// Frees of what was never served, and requests of 0 bytes, do nothing, as in the frameworks. An allocator keeps no
// time: whoever replays events keeps it (replay.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"
#include "ullage/sim/allocator_stats.h"
#include "ullage/timeline/program.h"

namespace ullage {

struct PoolTag;
using PoolId = Id<PoolTag>;  // 0 is the default pool; others are made by begin_private_pool()

struct AllocResult {
  bool served = true;
  Bytes allocated;  // size of the block: the request, rounded, and whatever was too little to split off
};

enum class FreeResult : uint8_t {
  complete,
  pending,  // a stream still uses it: allocated drops now, active and requested when it is done
};

// What an out-of-memory error text would say, and what it leaves out.
struct OutOfMemory {
  Bytes requested;
  Bytes rounded;
  Bytes wanted;       // "Tried to allocate": the segment that would have been taken, not the tensor
  Bytes device_free;  // of the allocator's capacity
  Bytes allocated;
  Bytes reserved;
  std::optional<Bytes> allowed;  // limit by a memory fraction
};

enum class SegmentAction : uint8_t { alloc, free, map, unmap };  // map and unmap: expandable segments

struct SegmentEvent {
  SegmentAction action = SegmentAction::alloc;
  Bytes size;
  int64_t address = 0;  // of the simulated device
};

enum class BlockState : uint8_t { allocated, pending_free, free };

// One block as it lies; blocks of a segment follow each other in address order.
struct PlacedBlock {
  int64_t segment = 0;  // address of the segment's start
  int64_t address = 0;
  Bytes size;
  BlockState state = BlockState::free;
  bool expandable = false;
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  virtual AllocResult alloc(BlockId block, Bytes requested, uint32_t stream = 0, PoolId pool = {}) = 0;
  virtual FreeResult free(BlockId block) = 0;

  // The block is used on another stream: its free waits for that stream. Allocators without streams ignore it.
  virtual void record_stream(BlockId /*block*/, uint32_t /*stream*/) {}
  // Every stream has finished: all pending frees complete.
  virtual void synchronize() {}
  // Gives back to the driver what is wholly free.
  virtual void empty_cache() {}
  // Memory of a private pool (a CUDA graph's) serves that pool only. After the end its free segments may be released.
  virtual PoolId begin_private_pool() { return {}; }
  virtual void end_private_pool(PoolId /*pool*/) {}

  // Layout for drawings, exports and tests, by address.
  virtual std::vector<PlacedBlock> layout() const { return {}; }
  // Where a live block lies; 0 when it is not alive or the allocator places nothing.
  virtual int64_t address_of(BlockId /*block*/) const { return 0; }

  const AllocatorStats& stats() const { return stats_; }
  void reset_peak() { stats_.reset_peak(); }
  // The last request that was not served.
  const OutOfMemory& out_of_memory() const { return out_of_memory_; }
  // From now on, what is taken from and given back to the driver is appended here.
  void record_segments(std::vector<SegmentEvent>* log) { segment_log_ = log; }
  // Blocks whose pending frees completed since the last call.
  std::vector<BlockId> take_completed() { return std::exchange(completed_, {}); }
  bool has_completed() const { return !completed_.empty(); }

 protected:
  void log_segment(SegmentAction action, Bytes size, int64_t address) {
    if (segment_log_ != nullptr) segment_log_->push_back({action, size, address});
  }

  AllocatorStats stats_;
  OutOfMemory out_of_memory_;
  std::vector<BlockId> completed_;

 private:
  std::vector<SegmentEvent>* segment_log_ = nullptr;
};

enum class AllocatorKind : uint8_t { pytorch, ideal, bfc, ort };

inline constexpr std::array<std::string_view, 4> kAllocatorNames = {"pytorch", "ideal", "bfc", "ort"};
std::optional<AllocatorKind> find_allocator(std::string_view name);

// A simulation has no clock, so when a stream is done with a block is a choice between two bounds.
enum class EventTiming : uint8_t {
  immediate,      // by the next request: lower bound
  at_sync_points  // only at synchronize() or when the cache is released: upper bound
};

inline constexpr Bytes kUnlimited = Bytes(int64_t{1} << 60);

struct AllocatorOptions {
  AllocatorKind kind = AllocatorKind::pytorch;
  std::string alloc_conf;         // text of PYTORCH_CUDA_ALLOC_CONF; pytorch only
  Bytes capacity = kUnlimited;    // what the allocator can get: the device less context, libraries and other processes
  Bytes device_total = Bytes(0);  // what the driver reports; 0: the same as capacity
  EventTiming timing = EventTiming::immediate;
};

Result<std::unique_ptr<Allocator>> make_allocator(const AllocatorOptions& options);

}  // namespace ullage
