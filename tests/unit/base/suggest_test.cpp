#include "ullage/base/suggest.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

TEST(Suggest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("bacth", "batch"), 1) << "a swap counts once";
  EXPECT_EQ(edit_distance("ADAM", "adam"), 0);
}

TEST(Suggest, Closest) {
  const std::vector<std::string> flags = {"--batch", "--device", "--optimizer", "--seq"};
  EXPECT_EQ(closest("--bacth", flags), "--batch");
  EXPECT_EQ(closest("--optimiser", flags), "--optimizer");
  EXPECT_EQ(closest("--devices", flags), "--device");
  EXPECT_EQ(closest("--zebra", flags), "");
  EXPECT_EQ(closest("anything", std::vector<std::string>{}), "");
  EXPECT_EQ(closest("a", std::vector<std::string>{"b", "a"}), "a");
  EXPECT_EQ(closest(std::string(100'000, 'x'), flags), "") << "no quadratic work on absurd words";
}

}  // namespace
}  // namespace ullage
