#include "ullage/timeline/timeline.h"

#include <numeric>

#include <gtest/gtest.h>

namespace ullage {
namespace {

CounterValues all(int64_t n) { return {Bytes(n), Bytes(n), Bytes(n), Bytes(n)}; }

// The drawing in timeline.h, with round numbers: allocated is requested + 2, reserved is 100 throughout.
Timeline drawing() {
  Timeline timeline;
  const BlockId b1 = timeline.add_block(Bytes(10), {.category = Category::parameters, .node = 1});
  const BlockId b2 = timeline.add_block(Bytes(20), {.category = Category::activations, .node = 2});
  const BlockId b3 = timeline.add_block(Bytes(4), {.category = Category::activations, .node = 1});
  timeline.alloc(b1, Bytes(12), {Bytes(10), Bytes(12), Bytes(12), Bytes(100)});
  timeline.alloc(b2, Bytes(22), {Bytes(30), Bytes(34), Bytes(34), Bytes(100)});
  timeline.mark("after_model", 0);
  timeline.free(b1, {Bytes(20), Bytes(22), Bytes(22), Bytes(100)});
  timeline.alloc(b3, Bytes(6), {Bytes(24), Bytes(28), Bytes(28), Bytes(100)});
  timeline.mark("after_forward", 1);
  timeline.free(b2, {Bytes(4), Bytes(6), Bytes(6), Bytes(100)});
  timeline.mark("after_forward", 2);
  return timeline;
}

TEST(Timeline, peak_is_the_first_event_at_the_maximum) {
  const Timeline timeline = drawing();
  EXPECT_EQ(timeline.peak(Counter::requested).event, 1u);
  EXPECT_EQ(timeline.peak(Counter::requested).value, Bytes(30));
  EXPECT_EQ(timeline.peak(Counter::allocated).value, Bytes(34));
  EXPECT_EQ(timeline.peak(Counter::reserved).event, 0u);
  EXPECT_EQ(timeline.peak(Counter::requested, 2, 5).event, 3u);
  EXPECT_EQ(timeline.peak(Counter::requested, 2, 5).value, Bytes(24));
  EXPECT_EQ(Timeline().peak(Counter::requested).value, Bytes(0));
}

TEST(Timeline, marks_hold_values_and_the_peak_since_the_mark_before) {
  const Timeline timeline = drawing();
  ASSERT_EQ(timeline.marks().size(), 3u);
  const TimelineMark& model = timeline.marks()[0];
  EXPECT_EQ(model.position, 2u);
  EXPECT_EQ(model.values.requested, Bytes(30));
  EXPECT_EQ(model.peaks.requested, Bytes(30));
  const TimelineMark& forward = timeline.marks()[1];
  EXPECT_EQ(forward.values.requested, Bytes(24));
  EXPECT_EQ(forward.peaks.requested, Bytes(30));  // a reset peak starts from the value at the mark before
  EXPECT_EQ(timeline.marks()[2].peaks.requested, Bytes(24));
  EXPECT_EQ(timeline.find_mark("after_forward")->step, 2);
  EXPECT_EQ(timeline.find_mark("after_forward", 1)->values.requested, Bytes(24));
  EXPECT_EQ(timeline.find_mark("after_step"), nullptr);
}

TEST(Timeline, alive_at_follows_birth_and_death) {
  const Timeline timeline = drawing();
  const auto ids = [&](uint32_t event) {
    std::vector<uint32_t> out;
    for (const BlockId id : timeline.alive_at(event, Counter::allocated)) out.push_back(id.index);
    return out;
  };
  EXPECT_EQ(ids(0), (std::vector<uint32_t>{1}));
  EXPECT_EQ(ids(1), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(ids(2), (std::vector<uint32_t>{2}));
  EXPECT_EQ(ids(3), (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(ids(4), (std::vector<uint32_t>{3}));
}

TEST(Timeline, parts_add_up_to_the_counter) {
  const Timeline timeline = drawing();
  for (uint32_t event = 0; event < timeline.event_count(); ++event) {
    for (const Counter counter : {Counter::requested, Counter::allocated, Counter::active, Counter::reserved}) {
      const CategoryBytes parts = timeline.by_category(event, counter);
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), Bytes(0)), timeline.values(event).at(counter))
          << "event " << event << ", " << counter_name(counter);
    }
  }
  const CategoryBytes reserved = timeline.by_category(3, Counter::reserved);
  EXPECT_EQ(reserved[static_cast<size_t>(Category::activations)], Bytes(28));
  EXPECT_EQ(reserved[static_cast<size_t>(Category::allocator_slack)], Bytes(72));
}

TEST(Timeline, owners_are_grouped_by_category_and_node) {
  Timeline timeline;
  const BlockLabel conv{.category = Category::activations, .node = 7};
  for (const int64_t size : {3, 4}) timeline.alloc(timeline.add_block(Bytes(size), conv), Bytes(size), all(size));
  timeline.alloc(timeline.add_block(Bytes(5), {.category = Category::parameters, .node = 7}), Bytes(5), all(12));
  const std::vector<OwnerBytes> rows = timeline.by_owner(2, Counter::allocated);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].category, Category::parameters);
  EXPECT_EQ(rows[1].bytes, Bytes(7));
  EXPECT_EQ(rows[1].blocks, 2u);
}

TEST(Timeline, a_pending_free_leaves_allocated_first_and_active_later) {
  Timeline timeline;
  const BlockId block = timeline.add_block(Bytes(8), {});
  timeline.alloc(block, Bytes(8), all(8));
  timeline.free_requested(block, {Bytes(8), Bytes(0), Bytes(8), Bytes(8)});
  timeline.free_completed(block, {Bytes(0), Bytes(0), Bytes(0), Bytes(8)});
  EXPECT_TRUE(timeline.alive_at(1, Counter::allocated).empty());
  EXPECT_EQ(timeline.alive_at(1, Counter::active).size(), 1u);
  EXPECT_EQ(timeline.alive_at(1, Counter::requested).size(), 1u);
  EXPECT_TRUE(timeline.alive_at(2, Counter::active).empty());
}

TEST(Timeline, a_request_that_was_never_served_is_never_alive) {
  Timeline timeline;
  timeline.add_block(Bytes(8), {});
  timeline.other(all(0));
  EXPECT_TRUE(timeline.alive_at(0, Counter::active).empty());
}

TEST(Category, names_are_those_of_the_contract) {
  EXPECT_EQ(category_name(Category::parameters), "parameters");
  EXPECT_EQ(category_name(Category::kv_cache), "kv_cache");
  EXPECT_EQ(category_name(Category::allocator_slack), "allocator_slack");
  EXPECT_EQ(category_name(Category::other), "other");
  for (size_t i = 0; i < kCategoryCount; ++i) {
    EXPECT_EQ(find_category(kCategoryNames[i]), static_cast<Category>(i));
  }
  EXPECT_FALSE(find_category("weights").has_value());
}

TEST(StepProgram, keeps_order_and_the_last_category) {
  StepProgram program;
  const BlockId block = program.alloc(MiB(6), {.node = 3, .phase = Phase::forward, .step = 1});
  program.mark("after_forward", 1);
  program.set_category(block, Category::activations);
  program.free(block);
  ASSERT_EQ(program.event_count(), 3u);
  EXPECT_EQ(program.event(1).kind, ProgramEventKind::mark);
  EXPECT_EQ(program.marks()[0].event, 1u);
  EXPECT_EQ(program.event(2).block(), block);
  EXPECT_EQ(program.block(block).category, Category::activations);
  EXPECT_EQ(program.block(block).node, 3u);
}

}  // namespace
}  // namespace ullage
