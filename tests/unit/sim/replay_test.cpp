#include "ullage/sim/replay.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

StepProgram two_layers() {
  StepProgram program;
  program.alloc(MiB(3), {.category = Category::parameters, .node = 1, .phase = Phase::setup});
  program.mark("after_model", 0);
  const BlockId out = program.alloc(MiB(6), {.category = Category::activations, .node = 1, .phase = Phase::forward});
  const BlockId scratch = program.alloc(MiB(30), {.category = Category::workspace, .node = 2});
  program.free(scratch);
  program.mark("after_forward", 1);
  program.free(out);
  program.mark("after_backward", 1);
  return program;
}

TEST(Replay, marks_carry_the_counters_of_the_allocator) {
  auto allocator = make_allocator({}).value();
  const Replay run = replay(two_layers(), *allocator);
  ASSERT_FALSE(run.failure.has_value());
  const TimelineMark* model = run.timeline.find_mark("after_model");
  EXPECT_EQ(model->values, (CounterValues{MiB(3), MiB(3), MiB(3), MiB(20)}));
  const TimelineMark* forward = run.timeline.find_mark("after_forward", 1);
  EXPECT_EQ(forward->values, (CounterValues{MiB(9), MiB(9), MiB(9), MiB(50)}));
  EXPECT_EQ(forward->peaks, (CounterValues{MiB(39), MiB(39), MiB(39), MiB(50)}));
  EXPECT_EQ(run.timeline.find_mark("after_backward")->values.allocated, MiB(3));
  EXPECT_EQ(run.timeline.peak(Counter::allocated).value, run.stats.allocated.all.peak);
  EXPECT_EQ(run.timeline.peak(Counter::reserved).value, run.stats.reserved.all.peak);
}

TEST(Replay, the_peak_can_be_taken_apart) {
  auto allocator = make_allocator({}).value();
  const Replay run = replay(two_layers(), *allocator);
  const PeakPoint peak = run.timeline.peak(Counter::allocated);
  EXPECT_EQ(run.timeline.block(run.timeline.block_of(peak.event)).label.node, 2u);
  const CategoryBytes parts = run.timeline.by_category(peak.event, Counter::reserved);
  EXPECT_EQ(parts[static_cast<size_t>(Category::workspace)], MiB(30));
  EXPECT_EQ(parts[static_cast<size_t>(Category::allocator_slack)], MiB(11));
}

TEST(Replay, the_smallest_capacity_that_serves_is_found_by_trying) {
  const auto serves = [](Bytes capacity) {
    auto allocator = make_allocator({.capacity = capacity}).value();
    return !replay(two_layers(), *allocator).failure.has_value();
  };
  EXPECT_TRUE(serves(MiB(50)));
  EXPECT_FALSE(serves(MiB(48)));
}

TEST(Replay, a_request_that_cannot_be_served_ends_it) {
  auto allocator = make_allocator({.capacity = MiB(40)}).value();
  const Replay run = replay(two_layers(), *allocator);
  ASSERT_TRUE(run.failure.has_value());
  EXPECT_EQ(run.failure->event, 3u);
  EXPECT_EQ(run.failure->block, BlockId{3});
  EXPECT_EQ(run.failure->out_of_memory.wanted, MiB(30));
  EXPECT_EQ(run.timeline.find_mark("after_forward"), nullptr);
  EXPECT_EQ(run.timeline.block_count(), 3u);
  EXPECT_EQ(run.timeline.block(BlockId{3}).born, kNever);
}

TEST(Replay, a_block_another_stream_uses_stays_active) {
  StepProgram program;
  const BlockId block = program.alloc(MiB(30), {});
  program.record_stream(block, 1);
  program.free(block);
  program.mark("after_free", 0);
  program.alloc(MiB(30), {});
  auto allocator = make_allocator({}).value();
  const Replay run = replay(program, *allocator);
  EXPECT_EQ(run.timeline.find_mark("after_free")->values, (CounterValues{MiB(30), Bytes(0), MiB(30), MiB(30)}));
  ASSERT_EQ(run.timeline.event_count(), 4u);
  EXPECT_EQ(run.timeline.kind(1), TimelineEventKind::free_requested);
  EXPECT_EQ(run.timeline.kind(2), TimelineEventKind::free_completed);
  EXPECT_EQ(run.timeline.values(2), (CounterValues{Bytes(0), Bytes(0), Bytes(0), MiB(30)}));
  EXPECT_EQ(run.timeline.values(3).reserved, MiB(30));
}

TEST(Replay, an_emptied_cache_is_an_event) {
  StepProgram program;
  program.free(program.alloc(MiB(30), {}));
  program.empty_cache();
  auto allocator = make_allocator({}).value();
  const Replay run = replay(program, *allocator);
  EXPECT_EQ(run.timeline.kind(2), TimelineEventKind::other);
  EXPECT_EQ(run.timeline.values(2).reserved, Bytes(0));
}

TEST(MakeAllocator, names_and_errors) {
  EXPECT_EQ(find_allocator("bfc"), AllocatorKind::bfc);
  EXPECT_FALSE(find_allocator("jemalloc").has_value());
  const auto wrong = make_allocator({.alloc_conf = "expandable_segment:True"});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().where, "alloc-conf");
  EXPECT_FALSE(make_allocator({.kind = AllocatorKind::ideal, .alloc_conf = "backend:native"}).has_value());
}

TEST(IdealAllocator, reserves_the_peak_of_what_was_asked_for) {
  auto allocator = make_allocator({.kind = AllocatorKind::ideal, .capacity = Bytes(100)}).value();
  allocator->alloc(BlockId{1}, Bytes(60));
  allocator->free(BlockId{1});
  allocator->alloc(BlockId{2}, Bytes(50));
  EXPECT_EQ(allocator->stats().reserved.all.current, Bytes(60));
  EXPECT_FALSE(allocator->alloc(BlockId{3}, Bytes(51)).served);
  EXPECT_TRUE(allocator->alloc(BlockId{3}, Bytes(50)).served);
}

}  // namespace
}  // namespace ullage
