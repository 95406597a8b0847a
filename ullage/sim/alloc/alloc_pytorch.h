// PytorchAllocator: PyTorch's CUDA caching allocator ("native" backend) to the letter, without a GPU.
//
// A request is rounded, served from the smallest free block of its own pool, side and stream that is large enough, and
// what is left of that block becomes a free block. Nothing free: a new segment from the driver; the driver has nothing
// either: the cache is released and the driver asked once more.
//
//   pool 0 (default) ── small ── stream 0 ── FreeList        pool 1 (a CUDA graph's) ── small ── stream 0 ── FreeList
//                    │        └─ stream 5 ── FreeList                                └─ large ── ...
//                    └─ large ── stream 0 ── FreeList { free: best fit, unmapped: by address }
//
//   A segment is a chain of blocks in address order; only neighbours of one chain ever merge:
//
//     cudaMalloc'd    [ used | free | used | free ]          gives back: only when it is one free block
//     expandable      [ used | free | unmapped ............ ]   gives back: whole pages inside free blocks
//
// Not here: the text of an out-of-memory error (report), the clock of streams (EventTiming), CUDA graph replay.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

#include "ullage/sim/alloc/alloc_conf.h"
#include "ullage/sim/alloc/device_memory.h"
#include "ullage/sim/alloc/free_set.h"
#include "ullage/sim/allocator.h"

namespace ullage {

struct PytorchOptions {
  AllocConf conf;
  Bytes capacity = kUnlimited;
  Bytes device_total = Bytes(0);  // 0: the same as capacity
  EventTiming timing = EventTiming::immediate;
  int torch = kNewestTorch;
};

class PytorchAllocator final : public Allocator {
 public:
  explicit PytorchAllocator(const PytorchOptions& options);

  AllocResult alloc(BlockId id, Bytes requested, uint32_t stream = 0, PoolId pool = {}) override;
  FreeResult free(BlockId id) override;
  void record_stream(BlockId id, uint32_t stream) override;
  void synchronize() override;
  void empty_cache() override;
  PoolId begin_private_pool() override;
  void end_private_pool(PoolId pool) override;
  std::vector<PlacedBlock> layout() const override;
  int64_t address_of(BlockId id) const override {
    return id.index < block_of_.size() ? blocks_[block_of_[id.index]].address : 0;
  }

  // While a CUDA graph is captured the cache is not released and no event is polled.
  void begin_capture() { ++captures_; }
  void end_capture();

  const AllocConf& conf() const { return conf_; }
  // As a script may at run time; memory already taken stays what it is.
  void set_expandable_segments(bool on) { conf_.expandable_segments = on; }

 private:
  using Index = uint32_t;  // of a block or a list; 0 means none
  static constexpr Index kNone = 0;

  struct Block {
    int64_t address = 0;
    int64_t size = 0;
    int64_t requested = 0;
    Index prev = kNone;  // neighbours in the segment, by address
    Index next = kNone;
    Index list = kNone;
    Index range = kNone;          // expandable range, if any
    uint32_t segment = 0;         // number of its segment or range in order of creation
    uint32_t pending_events = 0;  // streams still waited for after the free
    uint32_t searches_at_insert = 0;
    BlockId id;
    bool is_allocated = false;
    bool is_mapped = true;
    bool has_stream_uses = false;
  };

  // One (pool, side, stream): what may serve each other.
  struct FreeList {
    PoolId pool;
    PoolSide side = PoolSide::large;
    uint32_t stream = 0;
    FreeSet free;
    std::vector<Index> unmapped;  // by address
  };

  struct Pool {
    std::vector<Index> lists[2];    // by side, then by stream
    uint32_t searches[2] = {0, 0};  // clock of the garbage collection
    bool is_freeable = false;
  };

  // Addresses of one expandable segment.
  struct ExpandableRange {
    int64_t address = 0;
    int64_t size = 0;
    int64_t page = 0;
  };

  struct Request {
    int64_t rounded = 0;
    int64_t segment = 0;
    PoolSide side = PoolSide::large;
    Index list = kNone;
  };

  // alloc_pytorch.cpp: requests, frees, streams.
  Index find_free(const Request& request);
  Index new_segment(const Request& request);
  void hand_out(Index found, const Request& request, BlockId id, Bytes requested);
  bool should_split(const Block& block, const Request& request) const;
  void complete_free(Index index);             // the block becomes free and merges with its neighbours
  int64_t merge(Index into, Index neighbour);  // bytes taken over, 0 when they stay apart
  void insert_events(Index index);
  void process_events(bool wait);  // `wait`: until every stream is done
  AllocResult refuse(const Request& request, Bytes requested);
  Index list_for(PoolId pool, PoolSide side, uint32_t stream);
  Index new_block(const Block& like, int64_t address, int64_t size);
  uint32_t next_segment_number();
  FreeSet::Entry entry_of(Index index) const;
  void insert_free(Index index);
  void erase_free(Index index);
  static bool is_split(const Block& block) { return block.prev != kNone || block.next != kNone; }
  static bool is_idle(const Block& block) {
    return !block.is_allocated && block.pending_events == 0 && !block.has_stream_uses;
  }

  // alloc_pytorch_cache.cpp: giving memory back.
  void collect_garbage();
  bool release_oversize(const Request& request);
  void release_cache();
  void release_lists(const std::vector<Index>& lists);
  void release_segment(Index index);

  // alloc_pytorch_expandable.cpp: segments that grow.
  Index grow_expandable(const Request& request);
  Index find_growable(const Request& request);
  bool map(Index index, int64_t size);
  void unmap(Index index);
  void insert_unmapped(Index index);
  void erase_unmapped(Index index);
  int64_t size_if_grown(const Block& block) const;

  AllocConf conf_;
  DeviceMemory device_;
  Bytes device_total_;
  EventTiming timing_;
  int torch_;
  std::optional<Bytes> fraction_limit_;

  std::vector<Block> blocks_{1};
  std::vector<Index> spare_blocks_;
  std::vector<FreeList> lists_{1};
  std::vector<Pool> pools_;
  std::vector<ExpandableRange> ranges_{1};
  std::vector<Index> block_of_;  // by BlockId
  std::vector<Index> events_;    // one entry a stream waited for, in order of the frees
  size_t finished_events_ = 0;   // of those, done but not yet polled
  std::vector<Index> deferred_;  // frees during a capture
  tsl::robin_map<Index, std::vector<uint32_t>> stream_uses_;
  uint32_t segments_made_ = 0;
  int captures_ = 0;
};

}  // namespace ullage
