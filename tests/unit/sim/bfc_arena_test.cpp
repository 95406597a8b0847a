#include "ullage/sim/alloc/bfc_arena.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

TEST(BfcArena, regions_double_and_small_surplus_is_handed_out) {
  BfcArena arena(tensorflow_rules(GiB(1), true));
  arena.alloc(BlockId{1}, Bytes(1));
  EXPECT_EQ(arena.stats().reserved.all.current, MiB(2));
  EXPECT_EQ(arena.stats().allocated.all.current, Bytes(256));
  arena.alloc(BlockId{2}, MiB(3));  // a region of 4 MiB, less than twice the request: handed out whole
  EXPECT_EQ(arena.stats().allocated.all.current, Bytes(4194560));
  arena.alloc(BlockId{3}, MiB(20));  // 8, 16, 32; a surplus of 12 MiB is below 128
  EXPECT_EQ(arena.stats().reserved.all.current, MiB(38));
  EXPECT_EQ(arena.stats().allocated.all.current, Bytes(37748992));
}

TEST(BfcArena, a_surplus_of_128_mebibytes_is_split_off) {
  BfcArena arena(tensorflow_rules(GiB(1), true));
  arena.alloc(BlockId{1}, MiB(300));  // a region of 512, 212 to spare
  EXPECT_EQ(arena.stats().allocated.all.current, MiB(300));
  EXPECT_EQ(arena.stats().inactive_split.all.current, MiB(212));
}

TEST(BfcArena, without_growth_the_limit_is_taken_at_once) {
  BfcArena arena(tensorflow_rules(GiB(1), false));
  arena.alloc(BlockId{1}, Bytes(1));
  EXPECT_EQ(arena.stats().reserved.all.current, GiB(1));
}

TEST(BfcArena, free_neighbours_merge) {
  BfcArena arena(tensorflow_rules(GiB(1), false));
  for (uint32_t i = 1; i <= 3; ++i) arena.alloc(BlockId{i}, MiB(100));
  arena.free(BlockId{1});
  arena.free(BlockId{3});
  EXPECT_EQ(arena.stats().inactive_splits.all.current, 2);
  arena.free(BlockId{2});
  EXPECT_EQ(arena.stats().inactive_splits.all.current, 0);
  ASSERT_EQ(arena.layout().size(), 1u);
  EXPECT_EQ(arena.layout()[0].size, GiB(1));
}

TEST(BfcArena, the_limit_holds_and_free_regions_are_given_back_first) {
  BfcArena arena(tensorflow_rules(MiB(64), true));
  arena.alloc(BlockId{1}, MiB(30));  // 32
  arena.free(BlockId{1});
  EXPECT_TRUE(arena.alloc(BlockId{2}, MiB(50)).served);  // 32 more would not do; the free region goes
  EXPECT_EQ(arena.stats().num_device_free, 1);
  EXPECT_EQ(arena.stats().reserved.all.current, MiB(64));
  EXPECT_FALSE(arena.alloc(BlockId{3}, MiB(20)).served);
  EXPECT_EQ(arena.stats().num_ooms, 1);
  EXPECT_EQ(arena.out_of_memory().wanted, MiB(20));
}

TEST(BfcArena, a_device_with_less_than_the_region_is_asked_for_nine_tenths) {
  BfcArena arena(tensorflow_rules(GiB(1), true), MiB(60));
  EXPECT_TRUE(arena.alloc(BlockId{1}, MiB(50)).served);  // 64 -> 57.6 MiB
  EXPECT_EQ(arena.stats().reserved.all.current, Bytes(60398080));
}

TEST(OrtArena, starts_at_one_mebibyte_and_may_extend_exactly) {
  BfcArena doubling(ort_rules(GiB(1)));
  doubling.alloc(BlockId{1}, Bytes(1));
  EXPECT_EQ(doubling.stats().reserved.all.current, MiB(1));
  doubling.alloc(BlockId{2}, MiB(5));
  EXPECT_EQ(doubling.stats().reserved.all.current, MiB(9));
  BfcArena exact(ort_rules(GiB(1), OrtExtend::same_as_requested));
  exact.alloc(BlockId{1}, MiB(5) + Bytes(1));
  EXPECT_EQ(exact.stats().reserved.all.current, MiB(5) + Bytes(256));
}

TEST(OrtArena, shrinking_keeps_the_first_region_and_starts_growing_anew) {
  BfcArena arena(ort_rules(GiB(1)));
  arena.alloc(BlockId{1}, KiB(512));  // 1 MiB
  arena.alloc(BlockId{2}, MiB(30));   // 32 MiB
  arena.free(BlockId{1});
  arena.free(BlockId{2});
  arena.empty_cache();
  EXPECT_EQ(arena.stats().reserved.all.current, MiB(1));
  arena.alloc(BlockId{3}, MiB(2));
  EXPECT_EQ(arena.stats().reserved.all.current, MiB(3));
}

}  // namespace
}  // namespace ullage
