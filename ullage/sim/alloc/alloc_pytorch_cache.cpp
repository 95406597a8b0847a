// PytorchAllocator: giving cached memory back to the driver, when asked to, when over a limit, and before giving up.
#include <algorithm>

#include "ullage/sim/alloc/alloc_pytorch.h"

namespace ullage {

void PytorchAllocator::empty_cache() { release_cache(); }

void PytorchAllocator::release_cache() {
  process_events(true);
  ++stats_.num_sync_all_streams;
  for (size_t pool = 0; pool < pools_.size(); ++pool) {
    if (pool != 0 && !pools_[pool].is_freeable) continue;
    release_lists(pools_[pool].lists[static_cast<size_t>(PoolSide::large)]);
    release_lists(pools_[pool].lists[static_cast<size_t>(PoolSide::small)]);
  }
}

// Segments that are one free block go; of expandable ones, the pages that are wholly free.
void PytorchAllocator::release_lists(const std::vector<Index>& lists) {
  std::vector<Index> whole, expandable;
  for (const Index list : lists) {
    const FreeSet& free = lists_[list].free;
    for (FreeSet::Cursor at = free.first(); free.valid(at); at = free.next(at)) {
      const Index index = free[at].block;
      if (blocks_[index].range != kNone)
        expandable.push_back(index);
      else if (!is_split(blocks_[index]))
        whole.push_back(index);
    }
  }
  for (const Index index : whole) release_segment(index);
  for (const Index index : expandable) unmap(index);
}

void PytorchAllocator::release_segment(Index index) {
  erase_free(index);
  Block& block = blocks_[index];
  const Bytes size(block.size);
  const PoolSide side = lists_[block.list].side;
  device_.free(block.address, size);
  stats_.segments.subtract(side, 1);
  stats_.reserved.subtract(side, size);
  if (conf_.max_split_size && size >= *conf_.max_split_size) stats_.oversize_segments.subtract(1);
  ++stats_.num_device_free;
  log_segment(SegmentAction::free, size, block.address);
  block = Block{};
  spare_blocks_.push_back(index);
}

// Frees oversize blocks of the request's own list until they make up for it: one that is large enough, or several from
// the largest down. False when that is not enough; what was freed stays freed.
bool PytorchAllocator::release_oversize(const Request& request) {
  const int64_t oversize = conf_.max_split_size->value;
  const int64_t wanted = std::max(request.rounded, oversize);
  const FreeSet& free = lists_[request.list].free;
  std::vector<Index> candidates;  // smallest first
  for (FreeSet::Cursor at = free.lower_bound(oversize); free.valid(at); at = free.next(at)) {
    const Block& block = blocks_[free[at].block];
    if (block.range == kNone && !is_split(block)) candidates.push_back(free[at].block);
  }
  const auto enough =
      std::find_if(candidates.begin(), candidates.end(), [&](Index index) { return blocks_[index].size >= wanted; });
  if (enough != candidates.end()) {
    release_segment(*enough);
    return true;
  }
  int64_t released = 0;
  for (auto index = candidates.rbegin(); index != candidates.rend() && released < wanted; ++index) {
    released += blocks_[*index].size;
    release_segment(*index);
  }
  return released >= wanted;
}

// Over the threshold, frees whole segments of the default large pool that are at least of average age, counted in
// searches since they became free, pass by pass.
void PytorchAllocator::collect_garbage() {
  const auto limit =
      static_cast<int64_t>(conf_.garbage_collection_threshold * static_cast<double>(fraction_limit_->value));
  const int64_t reserved = stats_.reserved.all.current.value;
  if (reserved <= limit) return;
  constexpr auto kLarge = static_cast<size_t>(PoolSide::large);
  const uint32_t now = pools_[0].searches[kLarge];
  const auto age = [&](Index index) { return static_cast<double>(now - blocks_[index].searches_at_insert); };

  std::vector<Index> candidates;
  double total_age = 0;
  for (const Index list : pools_[0].lists[kLarge]) {
    const FreeSet& free = lists_[list].free;
    for (FreeSet::Cursor at = free.first(); free.valid(at); at = free.next(at)) {
      const Block& block = blocks_[free[at].block];
      if (block.range != kNone || is_split(block)) continue;
      candidates.push_back(free[at].block);
      total_age += age(free[at].block);
    }
  }
  int64_t reclaimed = 0;
  bool has_freed = true;
  while (reclaimed < reserved - limit && has_freed && !candidates.empty()) {
    const double average = total_age / static_cast<double>(candidates.size());
    std::vector<Index> kept;
    for (const Index index : candidates) {
      if (age(index) < average) {
        kept.push_back(index);
        continue;
      }
      total_age -= age(index);
      reclaimed += blocks_[index].size;
      release_segment(index);
    }
    has_freed = kept.size() < candidates.size();
    candidates = std::move(kept);
  }
}

}  // namespace ullage
