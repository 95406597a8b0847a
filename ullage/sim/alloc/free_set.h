// FreeSet: free blocks in the order of best fit, by size, then the age of their segment, then address.
//
//   FreeSet set;
//   set.insert({.size = 512, .address = 0, .segment = 1, .block = 7});
//   FreeSet::Cursor found = set.lower_bound(400);        // the smallest block of at least 400 bytes, oldest segment
//   first if (set.valid(found)) set.erase(found);
//
// A sorted sequence cut into short sorted arrays, so that an insert moves at most one array's worth of entries and a
// search is two binary searches:
//
//   chunks   [ 512@0  512@9  1024@2 ]  [ 1024@7  4096@1 ]  [ ... ]       at most kChunkCapacity entries each, never
//   empty
//
// Cursors are invalid after any insert or erase.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ullage/base/result.h"

namespace ullage {

class FreeSet {
 public:
  struct Entry {
    int64_t size = 0;
    int64_t address = 0;
    uint32_t segment = 0;  // number of its segment in order of creation; the same for all when age does not matter
    uint32_t block = 0;

    // Without branches: in a search each outcome is as likely as the other.
    bool before(const Entry& other) const {
      const bool by_address = (segment < other.segment) | ((segment == other.segment) & (address < other.address));
      return (size < other.size) | ((size == other.size) & by_address);
    }
  };
  struct Cursor {
    uint32_t chunk = 0;
    uint32_t slot = 0;
  };

  bool empty() const { return chunks_.empty(); }
  Cursor first() const { return {0, 0}; }
  bool valid(Cursor at) const { return at.chunk < chunks_.size(); }
  const Entry& operator[](Cursor at) const { return chunks_[at.chunk]->entries[at.slot]; }
  Cursor next(Cursor at) const {
    return at.slot + 1 < chunks_[at.chunk]->count ? Cursor{at.chunk, at.slot + 1} : Cursor{at.chunk + 1, 0};
  }
  // The largest entry; the set must not be empty.
  Cursor last() const {
    const auto chunk = static_cast<uint32_t>(chunks_.size() - 1);
    return {chunk, chunks_[chunk]->count - 1};
  }

  // The first entry of at least `size`.
  Cursor lower_bound(int64_t size) const { return lower_bound(Entry{.size = size}); }
  // The first entry not before `key`, whose block does not matter.
  Cursor lower_bound(const Entry& key) const {
    uint32_t low = 0, high = static_cast<uint32_t>(chunks_.size());
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      const Chunk& chunk = *chunks_[middle];
      if (chunk.entries[chunk.count - 1].before(key))
        low = middle + 1;
      else
        high = middle;
    }
    if (low == chunks_.size()) return {low, 0};
    return {low, slot_of(*chunks_[low], key)};
  }

  void insert(const Entry& entry) {
    Cursor at = lower_bound(entry);
    if (at.chunk == chunks_.size()) {
      if (chunks_.empty()) chunks_.push_back(std::make_unique<Chunk>());
      at.chunk = static_cast<uint32_t>(chunks_.size() - 1);
      at.slot = chunks_[at.chunk]->count;
    }
    if (chunks_[at.chunk]->count == kChunkCapacity) at = split(at);
    Chunk& chunk = *chunks_[at.chunk];
    std::copy_backward(chunk.entries.begin() + at.slot, chunk.entries.begin() + chunk.count,
                       chunk.entries.begin() + chunk.count + 1);
    chunk.entries[at.slot] = entry;
    ++chunk.count;
  }

  void erase(Cursor at) {
    Chunk& chunk = *chunks_[at.chunk];
    std::copy(chunk.entries.begin() + at.slot + 1, chunk.entries.begin() + chunk.count,
              chunk.entries.begin() + at.slot);
    if (--chunk.count == 0) chunks_.erase(chunks_.begin() + at.chunk);
  }
  void erase(const Entry& key) {
    const Cursor at = lower_bound(key);
    check(valid(at) && (*this)[at].size == key.size && (*this)[at].address == key.address,
          "a free block is in its set");
    erase(at);
  }

 private:
  static constexpr uint32_t kChunkCapacity = 64;
  struct Chunk {
    uint32_t count = 0;
    std::array<Entry, kChunkCapacity> entries;
  };

  static uint32_t slot_of(const Chunk& chunk, const Entry& key) {
    uint32_t low = 0;
    for (uint32_t left = chunk.count; left > 0;) {
      const uint32_t half = (left + 1) / 2;
      low += chunk.entries[low + half - 1].before(key) ? half : 0;
      left -= half;
    }
    return low;
  }

  // Moves the upper half of a full chunk into a new one behind it; returns where `at` is now.
  Cursor split(Cursor at) {
    constexpr uint32_t kHalf = kChunkCapacity / 2;
    auto upper = std::make_unique<Chunk>();
    Chunk& lower = *chunks_[at.chunk];
    std::copy(lower.entries.begin() + kHalf, lower.entries.end(), upper->entries.begin());
    upper->count = kChunkCapacity - kHalf;
    lower.count = kHalf;
    chunks_.insert(chunks_.begin() + at.chunk + 1, std::move(upper));
    return at.slot <= kHalf ? at : Cursor{at.chunk + 1, at.slot - kHalf};
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace ullage
