#include "ullage/ir/shape.h"

#include <limits>

#include <gtest/gtest.h>

namespace ullage {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Shape, CountsElements) {
  EXPECT_EQ((Shape{32, 3, 224, 224}.numel()), 4816896);
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ((Shape{7, 0, 3}.numel()), 0);
  EXPECT_EQ((Shape{10'000'000'000, 10'000'000'000}.numel()), kMax);
}

TEST(Shape, InsertsAndErases) {
  Shape shape{2, 3, 4};
  shape.insert(0, 9);
  EXPECT_EQ(shape, (Shape{9, 2, 3, 4}));
  shape.insert(4, 5);
  EXPECT_EQ(shape, (Shape{9, 2, 3, 4, 5}));
  shape.insert(2, 1);
  EXPECT_EQ(shape, (Shape{9, 2, 1, 3, 4, 5}));
  shape.erase(0);
  EXPECT_EQ(shape, (Shape{2, 1, 3, 4, 5}));
  shape.erase(-1);
  EXPECT_EQ(shape, (Shape{2, 1, 3, 4}));
}

TEST(Shape, NegativeDimsCountFromTheEnd) {
  Shape shape{2, 3, 4};
  EXPECT_EQ(shape[-1], 4);
  shape.set(-3, 8);
  EXPECT_EQ(shape, (Shape{8, 3, 4}));
}

TEST(Shape, Prints) {
  EXPECT_EQ((Shape{32, 3, 224, 224}.to_string()), "32x3x224x224");
  EXPECT_EQ(Shape().to_string(), "scalar");
  EXPECT_EQ(Shape{5}.to_string(), "5");
}

TEST(Broadcast, AsNumPy) {
  EXPECT_EQ(broadcast({8, 1, 6, 1}, {7, 1, 5}).value(), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast({256, 256, 3}, {3}).value(), (Shape{256, 256, 3}));
  EXPECT_EQ(broadcast({}, {2, 3}).value(), (Shape{2, 3}));
  EXPECT_EQ(broadcast({0, 3}, {1, 3}).value(), (Shape{0, 3}));
  EXPECT_EQ(broadcast({1}, {0}).value(), Shape{0});
  const auto bad = broadcast({2, 1}, {8, 4, 3});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "shapes 2x1 and 8x4x3 do not broadcast: 2 against 4 in dim -2");
}

TEST(ParseShape, AcceptsWhatPeopleWrite) {
  EXPECT_EQ(parse_shape("1x3x224x224").value(), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(parse_shape("8,128").value(), (Shape{8, 128}));
  EXPECT_EQ(parse_shape("5").value(), Shape{5});
  EXPECT_EQ(parse_shape("scalar").value(), Shape());
}

TEST(ParseShape, SaysWhatIsWrong) {
  for (const char* text :
       {"", "x3", "3x", "3xx4", "-1x3", "3xa", "3 x4", "99999999999999999999", "1x1x1x1x1x1x1x1x1x1x1x1x1"}) {
    const auto shape = parse_shape(text);
    ASSERT_FALSE(shape) << text;
    EXPECT_EQ(shape.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(shape.error().message.find("is not a shape"), std::string::npos);
  }
}

}  // namespace
}  // namespace ullage
