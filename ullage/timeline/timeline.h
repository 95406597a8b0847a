// Timeline: who was alive when. The one record that the estimator, a rehearsal and a recording all produce, and that
// peak, breakdown, difference, chart and export read.
//
//   PeakPoint peak = timeline.peak(Counter::allocated);            // {event 4711, 2.80 GiB}
//   CategoryBytes parts = timeline.by_category(peak.event, Counter::allocated);
//   for (BlockId id : timeline.alive_at(peak.event, Counter::allocated)) timeline.block(id).node ...
//
// Columns, not objects: an event is one row of six columns, a block one row of its table.
//
//   event        0       1       2        3       4         "at event e" always means just after it
//   kind         alloc   alloc   free     alloc   free
//   block        b1      b2      b1       b3      b2
//   requested    10      30      20       24      4         running counters, so a peak is one pass over one column
//
//   b1  |=======|                        born 0, freed 2: alive at events 0 and 1
//   b2          |================|       born 1, freed 4
//   b3                           |====   born 3, freed kNever
//
// Names of nodes are not here (a node is a number); what the bytes are rolled up to is rollup.h.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/id.h"
#include "ullage/timeline/category.h"
#include "ullage/timeline/counters.h"
#include "ullage/timeline/program.h"

namespace ullage {

inline constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

enum class TimelineEventKind : uint8_t {
  alloc,
  free,            // requested and complete at once, the usual case
  free_requested,  // the program let go, a stream still uses the memory: leaves `allocated` only
  free_completed,  // leaves `active` and `requested`
  other,           // no block: the state a recording begins with, a release of cached memory
};

struct TimelineBlock {
  Bytes requested;
  Bytes allocated;  // size of the allocator's block
  BlockLabel label;
  uint32_t born = 0;           // event
  uint32_t freed = kNever;     // event of its free or free_requested
  uint32_t released = kNever;  // event of its free or free_completed
};

struct TimelineMark {
  std::string name;
  uint16_t step = 0;
  uint32_t position = 0;  // events before it
  CounterValues values;
  CounterValues peaks;  // each counter's maximum since the mark before (the values at that mark included)
};

struct PeakPoint {
  uint32_t event = 0;  // the first at which the maximum is reached
  Bytes value;
};

using CategoryBytes = std::array<Bytes, kCategoryCount>;

// Bytes of one category that one node owns.
struct OwnerBytes {
  Category category = Category::other;
  uint32_t node = 0;
  Bytes bytes;
  uint32_t blocks = 0;
};

class Timeline {
 public:
  void reserve(size_t events);

  // Writing. Ids are given out in order, so a StepProgram's block ids carry over when every block is added in its
  // order.
  BlockId add_block(Bytes requested, const BlockLabel& label);
  void alloc(BlockId block, Bytes allocated, const CounterValues& now);
  void free(BlockId block, const CounterValues& now);
  void free_requested(BlockId block, const CounterValues& now);
  void free_completed(BlockId block, const CounterValues& now);
  void other(const CounterValues& now);
  void mark(std::string name, uint16_t step);

  // Reading.
  size_t event_count() const { return kinds_.size(); }
  TimelineEventKind kind(uint32_t event) const { return kinds_[event]; }
  BlockId block_of(uint32_t event) const { return blocks_of_[event]; }
  CounterValues values(uint32_t event) const;
  const std::vector<Bytes>& column(Counter counter) const { return columns_[static_cast<size_t>(counter)]; }

  size_t block_count() const { return blocks_.size(); }
  const TimelineBlock& block(BlockId id) const { return blocks_[id]; }
  const std::vector<TimelineMark>& marks() const { return marks_; }
  // The last mark of that name, or of that name and step; nullptr when there is none.
  const TimelineMark* find_mark(std::string_view name) const;
  const TimelineMark* find_mark(std::string_view name, uint16_t step) const;

  // Highest point over all events, or over [begin, end). Value 0 when there are none.
  PeakPoint peak(Counter counter) const { return peak(counter, 0, static_cast<uint32_t>(kinds_.size())); }
  PeakPoint peak(Counter counter, uint32_t begin, uint32_t end) const;

  // Whether the block counts under `counter` just after `event` (reserved counts what active counts).
  bool is_alive(const TimelineBlock& block, uint32_t event, Counter counter) const;
  std::vector<BlockId> alive_at(uint32_t event, Counter counter) const;  // by id, the order of birth

  // Parts of the counter's value at that moment; they add up to it. Rounding stays with its block's category; under
  // `reserved`, what is not active is allocator_slack.
  CategoryBytes by_category(uint32_t event, Counter counter) const;
  // The same by category and node, ordered by category, then node. allocator_slack is not in it: nobody owns that.
  std::vector<OwnerBytes> by_owner(uint32_t event, Counter counter) const;

 private:
  void push(TimelineEventKind kind, BlockId block, const CounterValues& now);

  std::vector<TimelineEventKind> kinds_;
  std::vector<BlockId> blocks_of_;
  std::array<std::vector<Bytes>, kCounterCount> columns_;
  IdVector<BlockTag, TimelineBlock> blocks_;
  std::vector<TimelineMark> marks_;
};

}  // namespace ullage
