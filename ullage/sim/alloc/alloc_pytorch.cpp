// Requests, frees and streams; giving memory back is alloc_pytorch_cache.cpp, growing segments
// alloc_pytorch_expandable.cpp.
#include "ullage/sim/alloc/alloc_pytorch.h"

#include <algorithm>
#include <utility>

#include "ullage/base/result.h"
#include "ullage/sim/alloc/pytorch_sizes.h"

namespace ullage {

namespace {

// Since 2.10 a fraction of 1 means no limit.
std::optional<Bytes> limit_of(const AllocConf& conf, Bytes total, int torch) {
  if (!conf.memory_fraction || (torch >= 210 && *conf.memory_fraction == 1.0)) return std::nullopt;
  return Bytes(static_cast<int64_t>(*conf.memory_fraction * static_cast<double>(total.value)));
}

}  // namespace

PytorchAllocator::PytorchAllocator(const PytorchOptions& options)
    : conf_(options.conf),
      device_(options.capacity),
      device_total_(options.device_total == Bytes(0) ? options.capacity : options.device_total),
      timing_(options.timing),
      torch_(options.torch),
      fraction_limit_(limit_of(options.conf, device_total_, options.torch)),
      pools_(1) {}

AllocResult PytorchAllocator::alloc(BlockId id, Bytes requested, uint32_t stream, PoolId pool) {
  if (requested <= Bytes(0)) return {};
  if (captures_ == 0 && !events_.empty()) process_events(false);
  if (requested >= kRefusedSize) return refuse({.rounded = requested.value, .segment = requested.value}, requested);

  const Bytes rounded = round_size(requested, conf_);
  Request request{.rounded = rounded.value, .segment = segment_size(rounded, conf_).value};
  request.side = rounded <= kSmallLimit ? PoolSide::small : PoolSide::large;
  request.list = list_for(pool, request.side, stream);

  Index found = find_free(request);
  if (found == kNone) {
    if (fraction_limit_ && conf_.garbage_collection_threshold > 0) collect_garbage();
    found = new_segment(request);
    if (found == kNone && conf_.max_split_size && release_oversize(request)) found = new_segment(request);
    if (found == kNone && captures_ == 0) {
      release_cache();
      ++stats_.num_alloc_retries;
      found = new_segment(request);
    }
    if (found == kNone) {
      ++stats_.num_ooms;
      return refuse(request, requested);
    }
  }
  hand_out(found, request, id, requested);
  return {true, Bytes(blocks_[found].size)};
}

// Only the first candidate in order of best fit is looked at: when the oversize rules reject it, the search
// fails.
PytorchAllocator::Index PytorchAllocator::find_free(const Request& request) {
  FreeList& list = lists_[request.list];
  if (fraction_limit_ && conf_.garbage_collection_threshold > 0) {
    ++pools_[list.pool.index].searches[static_cast<size_t>(request.side)];
  }
  FreeSet::Cursor at = list.free.lower_bound(request.rounded);
  if (!list.free.valid(at)) return kNone;
  const auto is_expandable = [&](FreeSet::Cursor c) { return blocks_[list.free[c].block].range != kNone; };
  if (is_expandable(at) && conf_.expandable_segments) {
    // The tail counts as large as it can still grow, so that holes inside are used first.
    for (FreeSet::Cursor next = list.free.next(at); is_expandable(at) && list.free.valid(next);
         at = next, next = list.free.next(next)) {
      if (size_if_grown(blocks_[list.free[next].block]) >= size_if_grown(blocks_[list.free[at].block])) break;
    }
  } else if (is_expandable(at)) {
    while (list.free.valid(at) && is_expandable(at)) at = list.free.next(at);
    if (!list.free.valid(at)) return kNone;
  }
  if (conf_.max_split_size) {
    const int64_t oversize = conf_.max_split_size->value;
    const int64_t size = list.free[at].size;
    if (request.rounded < oversize && size >= oversize) return kNone;
    if (request.rounded >= oversize && size >= request.rounded + conf_.max_non_split_rounding.value) return kNone;
  }
  const Index found = list.free[at].block;
  list.free.erase(at);
  return found;
}

PytorchAllocator::Index PytorchAllocator::new_segment(const Request& request) {
  const Bytes segment(request.segment);
  if (fraction_limit_ && stats_.reserved.all.current + segment > *fraction_limit_) return kNone;
  if (conf_.expandable_segments) return grow_expandable(request);
  const std::optional<int64_t> address = device_.allocate(segment);
  if (!address) return kNone;
  Block like;
  like.list = request.list;
  like.segment = next_segment_number();
  const Index made = new_block(like, *address, request.segment);
  stats_.segments.add(request.side, 1);
  stats_.reserved.add(request.side, segment);
  if (conf_.max_split_size && segment >= *conf_.max_split_size) stats_.oversize_segments.add(1);
  ++stats_.num_device_alloc;
  log_segment(SegmentAction::alloc, segment, *address);
  return made;
}

bool PytorchAllocator::should_split(const Block& block, const Request& request) const {
  const int64_t remaining = block.size - request.rounded;
  if (request.side == PoolSide::small || conf_.expandable_segments) return remaining >= kMinBlock.value;
  return (!conf_.max_split_size || request.rounded < conf_.max_split_size->value) && remaining > kSmallLimit.value;
}

void PytorchAllocator::hand_out(Index found, const Request& request, BlockId id, Bytes requested) {
  const bool was_split = is_split(blocks_[found]);
  const bool is_counted = blocks_[found].range == kNone;  // inactive_split leaves expandable memory out
  if (should_split(blocks_[found], request)) {
    const Index rest =
        new_block(blocks_[found], blocks_[found].address + request.rounded, blocks_[found].size - request.rounded);
    Block& block = blocks_[found];
    block.size = request.rounded;
    blocks_[rest].prev = found;
    blocks_[rest].next = block.next;
    if (block.next != kNone) blocks_[block.next].prev = rest;
    block.next = rest;
    insert_free(rest);
    if (is_counted && was_split) {
      stats_.inactive_split.subtract(request.side, Bytes(request.rounded));
    } else if (is_counted) {
      stats_.inactive_split.add(request.side, Bytes(blocks_[rest].size));
      stats_.inactive_splits.add(request.side, 1);
    }
  } else if (is_counted && was_split) {
    stats_.inactive_split.subtract(request.side, Bytes(blocks_[found].size));
    stats_.inactive_splits.subtract(request.side, 1);
  }

  Block& block = blocks_[found];
  block.is_allocated = true;
  block.requested = requested.value;
  block.id = id;
  if (block_of_.size() <= id.index) block_of_.resize(std::max<size_t>(id.index + 1, block_of_.size() * 2), kNone);
  check(block_of_[id.index] == kNone, "a block id is not allocated twice");
  block_of_[id.index] = found;

  stats_.allocations.add(request.side, 1);
  stats_.allocated.add(request.side, Bytes(block.size));
  stats_.active_blocks.add(request.side, 1);
  stats_.active.add(request.side, Bytes(block.size));
  stats_.requested.add(request.side, requested);
  if (conf_.max_split_size && block.size >= conf_.max_split_size->value) stats_.oversize_allocations.add(1);
}

FreeResult PytorchAllocator::free(BlockId id) {
  if (id.index >= block_of_.size() || block_of_[id.index] == kNone) return FreeResult::complete;
  const Index index = std::exchange(block_of_[id.index], kNone);
  Block& block = blocks_[index];
  const PoolSide side = lists_[block.list].side;
  block.is_allocated = false;
  stats_.allocations.subtract(side, 1);
  stats_.allocated.subtract(side, Bytes(block.size));
  if (conf_.max_split_size && block.size >= conf_.max_split_size->value) stats_.oversize_allocations.subtract(1);
  if (!block.has_stream_uses) {
    complete_free(index);
    return FreeResult::complete;
  }
  if (captures_ > 0)
    deferred_.push_back(index);
  else
    insert_events(index);
  return FreeResult::pending;
}

void PytorchAllocator::complete_free(Index index) {
  Block& block = blocks_[index];
  const PoolSide side = lists_[block.list].side;
  const Bytes size(block.size);
  const Bytes requested(block.requested);
  block.id = {};

  int64_t split_bytes = 0;
  int64_t splits = 0;
  for (const Index neighbour : {block.prev, block.next}) {
    const int64_t taken = merge(index, neighbour);
    split_bytes -= taken;
    splits -= taken > 0 ? 1 : 0;
  }
  insert_free(index);
  if (is_split(block)) {
    split_bytes += block.size;
    ++splits;
  }
  if (block.range == kNone) {
    stats_.inactive_split.change(side, Bytes(split_bytes));
    stats_.inactive_splits.change(side, splits);
  }
  stats_.active_blocks.subtract(side, 1);
  stats_.active.subtract(side, size);
  stats_.requested.subtract(side, requested);
}

int64_t PytorchAllocator::merge(Index into, Index neighbour) {
  if (neighbour == kNone) return 0;
  Block& block = blocks_[into];
  Block& other = blocks_[neighbour];
  if (!is_idle(other) || other.is_mapped != block.is_mapped) return 0;
  if (other.is_mapped)
    erase_free(neighbour);
  else
    erase_unmapped(neighbour);
  if (block.prev == neighbour) {
    block.address = other.address;
    block.prev = other.prev;
    if (block.prev != kNone) blocks_[block.prev].next = into;
  } else {
    block.next = other.next;
    if (block.next != kNone) blocks_[block.next].prev = into;
  }
  block.size += other.size;
  const int64_t taken = other.size;
  other = Block{};
  spare_blocks_.push_back(neighbour);
  return taken;
}

AllocResult PytorchAllocator::refuse(const Request& request, Bytes requested) {
  out_of_memory_ = {.requested = requested,
                    .rounded = Bytes(request.rounded),
                    .wanted = Bytes(request.segment),
                    .device_free = device_.free_bytes(),
                    .allocated = stats_.allocated.all.current,
                    .reserved = stats_.reserved.all.current,
                    .allowed = fraction_limit_};
  return {.served = false};
}

void PytorchAllocator::record_stream(BlockId id, uint32_t stream) {
  if (id.index >= block_of_.size() || block_of_[id.index] == kNone) return;
  const Index index = block_of_[id.index];
  if (lists_[blocks_[index].list].stream == stream) return;
  std::vector<uint32_t>& uses = stream_uses_[index];
  if (std::find(uses.begin(), uses.end(), stream) == uses.end()) uses.push_back(stream);
  blocks_[index].has_stream_uses = true;
}

void PytorchAllocator::insert_events(Index index) {
  const auto uses = stream_uses_.find(index);
  blocks_[index].pending_events = static_cast<uint32_t>(uses->second.size());
  blocks_[index].has_stream_uses = false;
  events_.insert(events_.end(), uses->second.size(), index);
  stream_uses_.erase(uses);
}

void PytorchAllocator::process_events(bool wait) {
  const bool all = wait || timing_ == EventTiming::immediate;
  const size_t done = all ? events_.size() : finished_events_;
  for (size_t i = 0; i < done; ++i) {
    const Index index = events_[i];
    if (--blocks_[index].pending_events > 0) continue;
    completed_.push_back(blocks_[index].id);
    complete_free(index);
  }
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(done));
  finished_events_ = 0;
}

void PytorchAllocator::synchronize() { finished_events_ = events_.size(); }

void PytorchAllocator::end_capture() {
  check(captures_ > 0, "a capture that ends has begun");
  if (--captures_ > 0) return;
  for (const Index index : std::exchange(deferred_, {})) insert_events(index);
}

PoolId PytorchAllocator::begin_private_pool() {
  pools_.emplace_back();
  return PoolId{static_cast<uint32_t>(pools_.size() - 1)};
}

void PytorchAllocator::end_private_pool(PoolId pool) {
  if (pool && pool.index < pools_.size()) pools_[pool.index].is_freeable = true;
}

PytorchAllocator::Index PytorchAllocator::list_for(PoolId pool, PoolSide side, uint32_t stream) {
  check(pool.index < pools_.size(), "a pool was begun before it is used");
  std::vector<Index>& lists = pools_[pool.index].lists[static_cast<size_t>(side)];
  for (const Index list : lists) {
    if (lists_[list].stream == stream) return list;
  }
  const auto made = static_cast<Index>(lists_.size());
  lists_.push_back({.pool = pool, .side = side, .stream = stream, .free = {}, .unmapped = {}});
  const auto after = std::find_if(lists.begin(), lists.end(), [&](Index i) { return lists_[i].stream > stream; });
  lists.insert(after, made);
  return made;
}

// A free block in the same list and address range as `like`, not yet linked or inserted.
PytorchAllocator::Index PytorchAllocator::new_block(const Block& like, int64_t address, int64_t size) {
  Block block;
  block.list = like.list;
  block.range = like.range;
  block.segment = like.segment;
  block.is_mapped = like.is_mapped;
  block.address = address;
  block.size = size;
  if (!spare_blocks_.empty()) {
    const Index index = spare_blocks_.back();
    spare_blocks_.pop_back();
    blocks_[index] = block;
    return index;
  }
  blocks_.push_back(block);
  return static_cast<Index>(blocks_.size() - 1);
}

void PytorchAllocator::insert_free(Index index) {
  Block& block = blocks_[index];
  FreeList& list = lists_[block.list];
  block.searches_at_insert = pools_[list.pool.index].searches[static_cast<size_t>(list.side)];
  list.free.insert(entry_of(index));
}

void PytorchAllocator::erase_free(Index index) { lists_[blocks_[index].list].free.erase(entry_of(index)); }

FreeSet::Entry PytorchAllocator::entry_of(Index index) const {
  const Block& block = blocks_[index];
  return {.size = block.size, .address = block.address, .segment = block.segment, .block = index};
}

// Among blocks of equal size the oldest segment's is taken first since 2.13 (pull request 183591); before, and inside a
// segment, the lowest address.
uint32_t PytorchAllocator::next_segment_number() { return torch_ >= 213 ? ++segments_made_ : 0; }

std::vector<PlacedBlock> PytorchAllocator::layout() const {
  std::vector<PlacedBlock> placed;
  for (const Block& first : blocks_) {
    if (first.size == 0 || first.prev != kNone) continue;
    for (const Block* block = &first;; block = &blocks_[block->next]) {
      const BlockState state = block->is_allocated ? BlockState::allocated
                               : is_idle(*block)   ? BlockState::free
                                                   : BlockState::pending_free;
      if (block->is_mapped)
        placed.push_back({first.address, block->address, Bytes(block->size), state, block->range != kNone});
      if (block->next == kNone) break;
    }
  }
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return placed;
}

}  // namespace ullage
