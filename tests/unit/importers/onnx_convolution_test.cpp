// Expected sizes: the formulas of the ONNX operator pages for Conv, ConvTranspose and pooling, worked by hand.
#include <gmock/gmock.h>

#include "tests/support/onnx_builder.h"

namespace ullage::onnx {
namespace {

using ::testing::ElementsAre;

TEST(OnnxConvolution, StridesPadsDilationsAndGroups) {
  OnnxBuilder m;
  m.input("x", {"batch", 4, 20, 30}).weight("w", {6, 2, 3, 5}).weight("b", {6});
  m.node("Conv", {"x", "w", "b"}, {"y"},
         {{"strides", ints{2, 1}}, {"pads", ints{1, 2, 1, 2}}, {"dilations", ints{2, 1}}, {"group", 2}});
  m.output("y");
  const Lowered g = lowered(m, {.batch = 5});
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "convolution");
  EXPECT_EQ(g.shape("y"), "5x6x9x30");  // (20 + 2 − (2·2 + 1)) / 2 + 1 = 9; 30 + 4 − 5 + 1 = 30
  const auto& conv = g.node("convolution");
  EXPECT_THAT(conv.attr_ints("padding"), ElementsAre(1, 2));
  EXPECT_EQ(conv.attr_int("groups", 0), 2);
  EXPECT_EQ(g.graph->parameter_count(), 6 * 2 * 3 * 5 + 6);
}

TEST(OnnxConvolution, SamePaddingOfEvenKernelPadsTheRestExplicitly) {
  OnnxBuilder m;
  m.input("x", {1, 3, 7, 7}).weight("w", {8, 3, 2, 2});
  m.node("Conv", {"x", "w"}, {"y"}, {{"auto_pad", "SAME_UPPER"}}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "constant_pad_nd convolution");
  EXPECT_EQ(g.shape("y"), "1x8x7x7");
  EXPECT_THAT(g.node("constant_pad_nd").attr_ints("pad"), ElementsAre(0, 1, 0, 1));
}

TEST(OnnxConvolution, TransposedGrows) {
  OnnxBuilder m;
  m.input("x", {2, 16, 8, 8}).weight("w", {16, 4, 3, 3});
  m.node("ConvTranspose", {"x", "w"}, {"y"},
         {{"strides", ints{2, 2}}, {"pads", ints{1, 1, 1, 1}}, {"output_padding", ints{1, 1}}});
  m.output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "2x4x16x16");  // 2·7 + 1 + 3 − 2
  EXPECT_EQ(g.node("convolution").attr_int("transposed", 0), 1);
}

TEST(OnnxConvolution, ChannelsThatDoNotFitAreNamed) {
  OnnxBuilder m;
  m.input("x", {1, 3, 8, 8}).weight("w", {8, 4, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(lowered(m).error(), ::testing::HasSubstr("the input has 3 channels, the weight wants 4"));
}

TEST(OnnxPooling, CeilModeDropsAWindowThatStartsInThePadding) {
  OnnxBuilder m;
  m.input("x", {1, 1, 6, 6});
  m.node("MaxPool", {"x"}, {"a"}, {{"kernel_shape", ints{1, 1}}, {"strides", ints{4, 4}}, {"ceil_mode", 1}});
  m.node("MaxPool", {"x"}, {"b"}, {{"kernel_shape", ints{3, 3}}, {"strides", ints{2, 2}}, {"ceil_mode", 1}});
  m.node("AveragePool", {"x"}, {"c"}, {{"kernel_shape", ints{3, 3}}, {"strides", ints{2, 2}}});
  m.output("a").output("b").output("c");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("a"), "1x1x2x2");  // ceil(5 / 4) + 1 = 3 windows, the third starts at 8: dropped
  EXPECT_EQ(g.shape("b"), "1x1x3x3");
  EXPECT_EQ(g.shape("c"), "1x1x2x2");
  EXPECT_EQ(g.ops(), "max_pool2d max_pool2d avg_pool2d");
}

TEST(OnnxPooling, GlobalAveragePoolIsAdaptive) {
  OnnxBuilder m;
  m.input("x", {2, 8, 7, 7}).node("GlobalAveragePool", {"x"}, {"y"}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "adaptive_avg_pool2d");
  EXPECT_EQ(g.shape("y"), "2x8x1x1");
}

}  // namespace
}  // namespace ullage::onnx
