#include "ullage/base/id.h"

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace ullage {
namespace {

struct NodeTag;
struct StorageTag;

static_assert(!std::is_convertible_v<Id<StorageTag>, Id<NodeTag>>, "ids of two tables must not mix");
static_assert(!std::is_convertible_v<int, Id<NodeTag>>, "a number is not an id");

TEST(Id, ZeroMeansNone) {
  EXPECT_FALSE(Id<NodeTag>{});
  IdVector<NodeTag, std::string> table;
  EXPECT_EQ(table.size(), 0);
  EXPECT_FALSE(table.contains(Id<NodeTag>{}));
  const auto first = table.push("a");
  const auto second = table.push("b");
  EXPECT_TRUE(first);
  EXPECT_EQ(first, table.first());
  EXPECT_EQ(table[second], "b");
  EXPECT_FALSE(table.contains(Id<NodeTag>{3}));
  EXPECT_EQ(std::string(table.begin()->c_str()), "a");
  EXPECT_EQ(table.end() - table.begin(), 2);
}

}  // namespace
}  // namespace ullage
