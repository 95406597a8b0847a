// PytorchAllocator: expandable segments, address ranges whose pages are mapped when needed and unmapped one by one.
//
//   before   [ used 30 | free 10 | unmapped .............. ]      pages of 20 MiB, mapped: 40
//   request 30: missing 20 -> one page
//   after    [ used 30 | used 30 | unmapped .......... ]          mapped: 60
#include <algorithm>

#include "ullage/base/result.h"
#include "ullage/sim/alloc/alloc_pytorch.h"
#include "ullage/sim/alloc/pytorch_sizes.h"

namespace ullage {

namespace {

// Keeps ranges of an unlimited device inside the simulated address space.
constexpr int64_t kMaxDevice = int64_t{1} << 50;

int64_t pages_up(int64_t size, int64_t page) { return (size + page - 1) / page * page; }

}  // namespace

// A free block of at least the request, taken out of its set, or none. Pages mapped before a failure stay mapped.
PytorchAllocator::Index PytorchAllocator::grow_expandable(const Request& request) {
  Index at = find_growable(request);
  if (!blocks_[at].is_mapped && !map(at, std::min(blocks_[at].size, request.rounded))) return kNone;
  while (blocks_[at].size < request.rounded) {
    const Index next = blocks_[at].next;
    if (next == kNone) return kNone;
    if (!map(next, std::min(request.rounded - blocks_[at].size, blocks_[next].size))) return kNone;
    at = next;
  }
  erase_free(at);
  return at;
}

// Where free and unmapped blocks in a row make up for the request, lowest address first; else a new range.
PytorchAllocator::Index PytorchAllocator::find_growable(const Request& request) {
  const auto has_room = [&](Index at) {
    int64_t room = 0;
    for (; room < request.rounded && at != kNone && is_idle(blocks_[at]); at = blocks_[at].next) {
      room += blocks_[at].size;
    }
    return room >= request.rounded;
  };
  for (const Index unmapped : lists_[request.list].unmapped) {
    const Index before = blocks_[unmapped].prev;
    const Index start = before != kNone && is_idle(blocks_[before]) ? before : unmapped;
    if (has_room(start)) return start;
  }
  const int64_t page = request.side == PoolSide::small ? kSmallSegment.value : conf_.large_segment_size.value;
  const int64_t total = std::min(device_total_.value, kMaxDevice);
  const int64_t size = pages_up(total + total / 8, page);
  const int64_t address = device_.reserve_addresses(Bytes(size));
  ranges_.push_back({address, size, page});
  Block like;
  like.list = request.list;
  like.range = static_cast<Index>(ranges_.size() - 1);
  like.segment = next_segment_number();
  like.is_mapped = false;
  const Index made = new_block(like, address, size);
  insert_unmapped(made);
  return made;
}

// Maps whole pages for at least the first `size` bytes of an unmapped block; the mapped part joins free neighbours.
bool PytorchAllocator::map(Index index, int64_t size) {
  const int64_t mapped = pages_up(size, ranges_[blocks_[index].range].page);
  if (!device_.take(Bytes(mapped))) return false;
  erase_unmapped(index);
  if (mapped < blocks_[index].size) {
    const Index rest = new_block(blocks_[index], blocks_[index].address + mapped, blocks_[index].size - mapped);
    Block& block = blocks_[index];
    blocks_[rest].prev = index;
    blocks_[rest].next = block.next;
    if (block.next != kNone) blocks_[block.next].prev = rest;
    block.next = rest;
    block.size = mapped;
    insert_unmapped(rest);
  }
  Block& block = blocks_[index];
  block.is_mapped = true;
  const int64_t address = block.address;
  merge(index, block.prev);
  merge(index, block.next);
  insert_free(index);
  stats_.reserved.add(lists_[block.list].side, Bytes(mapped));
  ++stats_.num_device_alloc;
  log_segment(SegmentAction::map, Bytes(mapped), address);
  return true;
}

// Gives back the pages that lie wholly inside a free block; a free piece stays before and after them.
void PytorchAllocator::unmap(Index index) {
  const ExpandableRange range = ranges_[blocks_[index].range];
  const int64_t start = blocks_[index].address, end = start + blocks_[index].size;
  const int64_t first = range.address + pages_up(start - range.address, range.page);
  const int64_t last = range.address + (end - range.address) / range.page * range.page;
  if (first >= last) return;
  erase_free(index);
  if (first > start) {
    const Index before = new_block(blocks_[index], start, first - start);
    Block& block = blocks_[index];
    blocks_[before].prev = block.prev;
    blocks_[before].next = index;
    if (block.prev != kNone) blocks_[block.prev].next = before;
    block.prev = before;
    insert_free(before);
  }
  if (last < end) {
    const Index after = new_block(blocks_[index], last, end - last);
    Block& block = blocks_[index];
    blocks_[after].prev = index;
    blocks_[after].next = block.next;
    if (block.next != kNone) blocks_[block.next].prev = after;
    block.next = after;
    insert_free(after);
  }
  Block& block = blocks_[index];
  block.address = first;
  block.size = last - first;
  block.is_mapped = false;
  merge(index, block.prev);
  merge(index, block.next);
  const Bytes given(last - first);
  device_.give(given);
  stats_.reserved.subtract(lists_[block.list].side, given);
  ++stats_.num_device_free;
  log_segment(SegmentAction::unmap, given, first);
  if (is_split(block)) {
    insert_unmapped(index);
    return;
  }
  device_.free_addresses(range.address, Bytes(range.size));
  block = Block{};
  spare_blocks_.push_back(index);
}

void PytorchAllocator::insert_unmapped(Index index) {
  std::vector<Index>& unmapped = lists_[blocks_[index].list].unmapped;
  const auto after = std::find_if(unmapped.begin(), unmapped.end(),
                                  [&](Index other) { return blocks_[other].address > blocks_[index].address; });
  unmapped.insert(after, index);
}

void PytorchAllocator::erase_unmapped(Index index) { std::erase(lists_[blocks_[index].list].unmapped, index); }

int64_t PytorchAllocator::size_if_grown(const Block& block) const {
  const bool can_grow = block.next != kNone && !blocks_[block.next].is_mapped;
  return block.size + (can_grow ? blocks_[block.next].size : 0);
}

}  // namespace ullage
