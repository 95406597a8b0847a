// What holds for every allocator and any program: parts add up, nothing is negative, and the bounds are bounds.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "ullage/sim/alloc/alloc_conf.h"
#include "ullage/sim/alloc/free_set.h"
#include "ullage/sim/alloc/pytorch_sizes.h"
#include "ullage/sim/allocator.h"

namespace ullage {
namespace {

struct Step {
  Bytes size;           // of a request, or 0 to free
  uint32_t choice = 0;  // which live block to free
};

std::vector<Step> steps_of(const std::vector<std::pair<uint32_t, uint32_t>>& draws) {
  std::vector<Step> steps;
  for (const auto& [kind, amount] : draws) {
    // Sizes of all magnitudes up to 128 MiB; two frees to three requests.
    const Bytes size(1 + static_cast<int64_t>(amount) % (int64_t{1} << (1 + kind % 27)));
    steps.push_back(kind % 5 < 3 ? Step{size, 0} : Step{Bytes(0), amount});
  }
  return steps;
}

// Plays the steps, checking after each; returns the sum of requests by the upper bound of a request each.
void play(Allocator& allocator, const std::vector<Step>& steps, bool has_layout) {
  std::vector<BlockId> live;
  std::map<uint32_t, Bytes> size_of;
  Bytes requested;
  uint32_t last = 0;
  for (const Step& step : steps) {
    if (step.size > Bytes(0)) {
      const BlockId id{++last};
      const AllocResult result = allocator.alloc(id, step.size);
      RC_ASSERT(result.served);
      RC_ASSERT(result.allocated >= step.size);
      live.push_back(id);
      size_of[id.index] = step.size;
      requested += step.size;
    } else if (!live.empty()) {
      const size_t index = step.choice % live.size();
      allocator.free(live[index]);
      requested -= size_of[live[index].index];
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    }
    const AllocatorStats& stats = allocator.stats();
    RC_ASSERT(stats.requested.all.current == requested);
    RC_ASSERT(requested <= stats.allocated.all.current);
    RC_ASSERT(stats.allocated.all.current == stats.active.all.current);
    RC_ASSERT(stats.active.all.current <= stats.reserved.all.current);
    RC_ASSERT(stats.active.small.current + stats.active.large.current == stats.active.all.current);
    RC_ASSERT(stats.allocations.all.current == static_cast<int64_t>(live.size()));
    if (!has_layout) continue;
    // reserved = active + free parts of split segments + segments that are wholly free
    Bytes in_use, split, whole;
    std::map<int64_t, std::pair<Bytes, int>> segments;  // by address: size, blocks
    const std::vector<PlacedBlock> blocks = allocator.layout();
    for (const PlacedBlock& block : blocks) {
      segments[block.segment].first += block.size;
      ++segments[block.segment].second;
    }
    for (const PlacedBlock& block : blocks) {
      if (block.state == BlockState::allocated)
        in_use += block.size;
      else if (segments[block.segment].second > 1)
        split += block.size;
      else
        whole += block.size;
    }
    RC_ASSERT(in_use == stats.active.all.current);
    RC_ASSERT(in_use + split + whole == stats.reserved.all.current);
    if (blocks.empty() || !blocks[0].expandable) RC_ASSERT(split == stats.inactive_split.all.current);
    for (size_t i = 1; i < blocks.size(); ++i) {
      RC_ASSERT(blocks[i - 1].address + blocks[i - 1].size.value <= blocks[i].address);
      const bool adjoin = blocks[i - 1].segment == blocks[i].segment &&
                          blocks[i - 1].address + blocks[i - 1].size.value == blocks[i].address;
      RC_ASSERT(!(adjoin && blocks[i - 1].state == BlockState::free && blocks[i].state == BlockState::free));
    }
  }
  for (const BlockId id : live) allocator.free(id);
  RC_ASSERT(allocator.stats().active.all.current == Bytes(0));
  RC_ASSERT(allocator.stats().inactive_split.all.current == Bytes(0));
  RC_ASSERT(allocator.stats().inactive_splits.all.current == 0);
}

RC_GTEST_PROP(Allocators, parts_add_up_and_bounds_hold, (const std::vector<std::pair<uint32_t, uint32_t>>& draws)) {
  const std::vector<Step> steps = steps_of(draws);
  auto ideal = make_allocator({.kind = AllocatorKind::ideal}).value();
  play(*ideal, steps, false);
  const Bytes lower = ideal->stats().reserved.all.peak;
  RC_ASSERT(lower == ideal->stats().requested.all.peak);
  Bytes upper;  // every request with a segment of its own
  for (const Step& step : steps) {
    if (step.size > Bytes(0)) upper += segment_size(round_size(step.size, AllocConf{}), AllocConf{});
  }
  for (const char* conf : {"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"}) {
    auto allocator = make_allocator({.alloc_conf = conf}).value();
    play(*allocator, steps, true);
    RC_ASSERT(allocator->stats().reserved.all.peak >= lower);
    if (std::string(conf).empty()) RC_ASSERT(allocator->stats().reserved.all.peak <= upper);
  }
  for (const AllocatorKind kind : {AllocatorKind::bfc, AllocatorKind::ort}) {
    auto allocator = make_allocator({.kind = kind}).value();
    play(*allocator, steps, true);
    RC_ASSERT(allocator->stats().reserved.all.peak >= lower);
  }
}

// FreeSet against a sorted map, with few sizes so that ties are common and enough entries to split its arrays.
RC_GTEST_PROP(FreeSet, is_a_sorted_set, (const std::vector<std::pair<uint8_t, uint16_t>>& draws)) {
  FreeSet set;
  std::map<std::tuple<int64_t, uint32_t, int64_t>, uint32_t> model;
  uint32_t block = 0;
  for (int round = 0; round < 8; ++round) {
    for (const auto& [size, address] : draws) {
      const FreeSet::Entry entry{
          .size = size, .address = address + round * 3, .segment = address % 5u, .block = ++block};
      const auto key = std::tuple(entry.size, entry.segment, entry.address);
      if (model.contains(key)) {
        set.erase(entry);
        model.erase(key);
      } else {
        set.insert(entry);
        model.emplace(key, entry.block);
      }
      const auto expected = model.lower_bound({size / 2, 0, 0});
      const FreeSet::Cursor found = set.lower_bound(size / 2);
      RC_ASSERT(set.valid(found) == (expected != model.end()));
      if (set.valid(found)) RC_ASSERT(set[found].block == expected->second);
    }
  }
  auto expected = model.begin();
  for (FreeSet::Cursor at = set.first(); set.valid(at); at = set.next(at), ++expected) {
    RC_ASSERT(expected != model.end() && set[at].block == expected->second);
  }
  RC_ASSERT(expected == model.end());
}

}  // namespace
}  // namespace ullage
