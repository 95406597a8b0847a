// BfcArena: best fit with coalescing, the arena that TensorFlow, JAX and ONNX Runtime share; they differ in BfcRules.
//
//   tensorflow_rules(limit, true)    grows: regions of 2, 4, 8 ... MiB          (TF_FORCE_GPU_ALLOW_GROWTH)
//   tensorflow_rules(limit, false)   takes the whole limit at the first request (TensorFlow's and JAX's default)
//   ort_rules(limit)                 regions of 1, 2, 4 ... MiB                 (kNextPowerOfTwo)
//
//   region   [ chunk in use | free chunk | chunk in use | free chunk ]     sizes are multiples of 256
//
// A free chunk is handed out whole unless it is at least twice the request or `max_waste` larger, so a tensor may own
// nearly twice its size: that is counted as allocated. One compute stream: streams are ignored. Bins of the original
// only shorten its search; the order (size, then address) is that of FreeSet.
#pragma once

#include <cstdint>
#include <vector>

#include "ullage/sim/alloc/device_memory.h"
#include "ullage/sim/alloc/free_set.h"
#include "ullage/sim/allocator.h"

namespace ullage {

struct BfcRules {
  Bytes limit = kUnlimited;  // of all regions together
  Bytes first_region = MiB(2);
  Bytes max_waste = MiB(128);             // a surplus of this much is split off even below twice the request
  bool grows_exactly = false;             // regions of just the rounded request (kSameAsRequested)
  bool releases_when_full = true;         // wholly free regions are given back before a request fails
  Bytes growth_after_release = Bytes(0);  // region size to go on with after empty_cache(); 0: unchanged
  bool keeps_first_region = false;        // empty_cache() leaves it
};

BfcRules tensorflow_rules(Bytes limit, bool allow_growth);
enum class OrtExtend : uint8_t { next_power_of_two, same_as_requested };
BfcRules ort_rules(Bytes limit, OrtExtend extend = OrtExtend::next_power_of_two);

class BfcArena final : public Allocator {
 public:
  explicit BfcArena(const BfcRules& rules, Bytes capacity = kUnlimited);

  AllocResult alloc(BlockId id, Bytes requested, uint32_t stream = 0, PoolId pool = {}) override;
  FreeResult free(BlockId id) override;
  void empty_cache() override;  // arena shrinkage
  std::vector<PlacedBlock> layout() const override;
  int64_t address_of(BlockId id) const override {
    return id.index < chunk_of_.size() ? chunks_[chunk_of_[id.index]].address : 0;
  }

 private:
  using Index = uint32_t;
  static constexpr Index kNone = 0;

  struct Chunk {
    int64_t address = 0;
    int64_t size = 0;
    int64_t requested = 0;
    Index prev = kNone;
    Index next = kNone;
    uint32_t region = 0;  // in order of creation, from 1
    bool in_use = false;
  };

  Index find_free(Bytes rounded);
  bool extend(Bytes rounded);
  bool release_free_regions(Bytes rounded);
  void release_region(Index whole);
  std::vector<Index> free_regions() const;
  void insert_free(Index index);
  void erase_free(Index index);
  void absorb_next(Index index);
  static bool is_split(const Chunk& chunk) { return chunk.prev != kNone || chunk.next != kNone; }

  BfcRules rules_;
  DeviceMemory device_;
  Bytes next_region_;
  uint32_t regions_made_ = 0;
  std::vector<Chunk> chunks_{1};
  std::vector<Index> spare_chunks_;
  std::vector<Index> chunk_of_;  // by BlockId
  FreeSet free_;
};

}  // namespace ullage
