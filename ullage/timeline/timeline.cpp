#include "ullage/timeline/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ullage/base/result.h"

namespace ullage {

namespace {

Bytes size_under(const TimelineBlock& block, Counter counter) {
  return counter == Counter::requested ? block.requested : block.allocated;
}

}  // namespace

void Timeline::reserve(size_t events) {
  kinds_.reserve(events);
  blocks_of_.reserve(events);
  for (auto& column : columns_) column.reserve(events);
}

BlockId Timeline::add_block(Bytes requested, const BlockLabel& label) {
  return blocks_.push({.requested = requested, .allocated = Bytes(0), .label = label, .born = kNever});
}

void Timeline::push(TimelineEventKind kind, BlockId block, const CounterValues& now) {
  kinds_.push_back(kind);
  blocks_of_.push_back(block);
  for (size_t i = 0; i < kCounterCount; ++i) columns_[i].push_back(now.at(static_cast<Counter>(i)));
}

void Timeline::alloc(BlockId block, Bytes allocated, const CounterValues& now) {
  TimelineBlock& row = blocks_[block];
  check(row.born == kNever, "a block of a timeline is allocated once");
  row.allocated = allocated;
  row.born = static_cast<uint32_t>(kinds_.size());
  push(TimelineEventKind::alloc, block, now);
}

void Timeline::free(BlockId block, const CounterValues& now) {
  blocks_[block].freed = blocks_[block].released = static_cast<uint32_t>(kinds_.size());
  push(TimelineEventKind::free, block, now);
}

void Timeline::free_requested(BlockId block, const CounterValues& now) {
  blocks_[block].freed = static_cast<uint32_t>(kinds_.size());
  push(TimelineEventKind::free_requested, block, now);
}

void Timeline::free_completed(BlockId block, const CounterValues& now) {
  blocks_[block].released = static_cast<uint32_t>(kinds_.size());
  push(TimelineEventKind::free_completed, block, now);
}

void Timeline::other(const CounterValues& now) { push(TimelineEventKind::other, BlockId{}, now); }

void Timeline::mark(std::string name, uint16_t step) {
  const auto position = static_cast<uint32_t>(kinds_.size());
  const CounterValues now = position == 0 ? CounterValues{} : values(position - 1);
  const uint32_t since = marks_.empty() ? 0 : marks_.back().position;
  CounterValues peaks = marks_.empty() ? CounterValues{} : marks_.back().values;
  for (uint32_t event = since; event < position; ++event) peaks = max_each(peaks, values(event));
  marks_.push_back({std::move(name), step, position, now, peaks});
}

CounterValues Timeline::values(uint32_t event) const {
  return {columns_[0][event], columns_[1][event], columns_[2][event], columns_[3][event]};
}

const TimelineMark* Timeline::find_mark(std::string_view name) const {
  const auto found = std::find_if(marks_.rbegin(), marks_.rend(), [&](const auto& mark) { return mark.name == name; });
  return found == marks_.rend() ? nullptr : &*found;
}

const TimelineMark* Timeline::find_mark(std::string_view name, uint16_t step) const {
  const auto found = std::find_if(marks_.rbegin(), marks_.rend(),
                                  [&](const auto& mark) { return mark.name == name && mark.step == step; });
  return found == marks_.rend() ? nullptr : &*found;
}

PeakPoint Timeline::peak(Counter counter, uint32_t begin, uint32_t end) const {
  const auto& amounts = column(counter);
  if (begin >= end) return {};
  const auto highest = std::max_element(amounts.begin() + begin, amounts.begin() + end);
  return {static_cast<uint32_t>(highest - amounts.begin()), *highest};
}

bool Timeline::is_alive(const TimelineBlock& block, uint32_t event, Counter counter) const {
  if (block.born > event) return false;  // kNever too: a request that was never served
  return event < (counter == Counter::allocated ? block.freed : block.released);
}

std::vector<BlockId> Timeline::alive_at(uint32_t event, Counter counter) const {
  std::vector<BlockId> alive;
  for (BlockId id = blocks_.first(); blocks_.contains(id); ++id.index) {
    if (is_alive(blocks_[id], event, counter)) alive.push_back(id);
  }
  return alive;
}

CategoryBytes Timeline::by_category(uint32_t event, Counter counter) const {
  CategoryBytes parts{};
  for (const TimelineBlock& block : blocks_) {
    if (!is_alive(block, event, counter)) continue;
    parts[static_cast<size_t>(block.label.category)] += size_under(block, counter);
  }
  if (counter == Counter::reserved) {
    parts[static_cast<size_t>(Category::allocator_slack)] +=
        column(Counter::reserved)[event] - column(Counter::active)[event];
  }
  return parts;
}

std::vector<OwnerBytes> Timeline::by_owner(uint32_t event, Counter counter) const {
  std::vector<OwnerBytes> rows;
  for (const TimelineBlock& block : blocks_) {
    if (!is_alive(block, event, counter)) continue;
    rows.push_back({block.label.category, block.label.node, size_under(block, counter), 1});
  }
  const auto key = [](const OwnerBytes& row) { return std::tuple(row.category, row.node); };
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  size_t kept = 0;
  for (const OwnerBytes& row : rows) {
    if (kept > 0 && key(rows[kept - 1]) == key(row)) {
      rows[kept - 1].bytes += row.bytes;
      rows[kept - 1].blocks += row.blocks;
    } else {
      rows[kept++] = row;
    }
  }
  rows.resize(kept);
  return rows;
}

}  // namespace ullage
