#include "ullage/timeline/rollup.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

Rollup sample() {
  Rollup rollup;
  rollup.add({"activations", "layer1", "conv1"}, Bytes(6));
  rollup.add({"activations", "layer1", "conv2"}, Bytes(3));
  rollup.add({"activations", "layer1"}, Bytes(1));
  rollup.add({"parameters", "fc"}, Bytes(8));
  rollup.add({"inputs"}, Bytes(2));
  return rollup;
}

TEST(Rollup, adds_up_the_hierarchy) {
  const Rollup rollup = sample();
  EXPECT_EQ(rollup.total(), Bytes(20));
  EXPECT_EQ(rollup.bytes_at({"activations"}), Bytes(10));
  EXPECT_EQ(rollup.bytes_at({"activations", "layer1"}), Bytes(10));
  EXPECT_EQ(rollup.bytes_at({"activations", "layer9"}), Bytes(0));
}

TEST(Rollup, rows_of_a_level_add_up_to_their_parent) {
  const Rollup rollup = sample();
  const std::vector<RollupRow> rows = rollup.top({"activations", "layer1"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].label, "conv1");
  EXPECT_EQ(rows[1].label, "conv2");
  EXPECT_EQ(rows[2].label, "[self]");
  EXPECT_EQ(rows[2].bytes, Bytes(1));
  EXPECT_FALSE(rows[2].is_label);
}

TEST(Rollup, what_is_beyond_the_limit_becomes_one_row) {
  const std::vector<RollupRow> rows = sample().top({}, 1);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].label, "activations");
  EXPECT_EQ(rows[0].count, 3);
  EXPECT_EQ(rows[1].label, "[2 others]");
  EXPECT_EQ(rows[1].bytes, Bytes(10));
  EXPECT_EQ(rows[1].count, 2);
  EXPECT_EQ(sample().top({}, 3).size(), 3u);
  EXPECT_TRUE(sample().top({"nothing"}).empty());
}

TEST(Rollup, equal_bytes_are_ordered_by_label) {
  Rollup rollup;
  for (const char* label : {"c", "a", "b"}) rollup.add({label}, Bytes(5));
  const std::vector<RollupRow> rows = rollup.top();
  EXPECT_EQ(rows[0].label + rows[1].label + rows[2].label, "abc");
}

TEST(Rollup, difference_keeps_labels_of_both_sides) {
  Rollup after = sample();
  after.add({"optimizer"}, Bytes(16));
  Rollup before = sample();
  before.add({"kv_cache"}, Bytes(7));
  const Rollup change = after - before;
  EXPECT_EQ(change.total(), Bytes(9));
  EXPECT_EQ(change.bytes_at({"optimizer"}), Bytes(16));
  EXPECT_EQ(change.bytes_at({"kv_cache"}), Bytes(-7));
  EXPECT_EQ(change.bytes_at({"parameters"}), Bytes(0));
  EXPECT_EQ(change.top()[1].label, "kv_cache");  // by size of the change, whichever way
}

TEST(Rollup, sum_with_itself_doubles) {
  Rollup rollup = sample();
  rollup += rollup;
  EXPECT_EQ(rollup.total(), Bytes(40));
  EXPECT_EQ(rollup.bytes_at({"activations", "layer1", "conv1"}), Bytes(12));
}

TEST(Rollup, conservation_names_both_sides) {
  EXPECT_TRUE(sample().check_conservation(Bytes(20)).has_value());
  const Status status = sample().check_conservation(Bytes(21));
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("20 B"), std::string::npos);
  EXPECT_NE(status.error().message.find("21 B"), std::string::npos);
}

}  // namespace
}  // namespace ullage
