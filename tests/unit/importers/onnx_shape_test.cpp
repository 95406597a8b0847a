// Operators on sizes, and computations of shapes that leave no node. Expected sizes: the examples of the ONNX operator
// pages.
#include <gmock/gmock.h>

#include "tests/support/onnx_builder.h"

namespace ullage::onnx {
namespace {

using ::testing::HasSubstr;

TEST(OnnxShape, ShapeGatherConcatReshapeLeavesOneNode) {
  OnnxBuilder m;
  m.input("x", {"batch", 4, 6});
  m.scalar("zero", 0).int64s("axis", {0}).int64s("rest", {-1});
  m.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"b"}).node("Unsqueeze", {"b", "axis"}, {"b1"});
  m.node("Concat", {"b1", "rest"}, {"target"}, {{"axis", 0}}).node("Reshape", {"x", "target"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 3});
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "reshape");
  EXPECT_EQ(g.shape("y"), "3x24");
  EXPECT_TRUE(g.graph->buffers.empty());  // a shape is no buffer
}

TEST(OnnxShape,
     TheExportersExpandOfMinusOnes) {  // torch's expand(-1, …) before opset 18: ConstantOfShape, Mul, Equal, Where
  OnnxBuilder m;
  m.input("x", {"batch", 1, 8});
  m.int64s("rank", {3}).int64s("wanted", {-1, 5, -1}).int64s("minus", {-1});
  m.node("ConstantOfShape", {"rank"}, {"ones"}, {{"value", OnnxBuilder::TensorText{7, {1}, {1}}}});
  m.node("Mul", {"ones", "minus"}, {"negative"}).node("Equal", {"wanted", "negative"}, {"open"});
  m.node("Where", {"open", "ones", "wanted"}, {"target"}).node("Expand", {"x", "target"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 2});
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "expand");
  EXPECT_EQ(g.shape("y"), "2x5x8");
}

TEST(OnnxShape, ReshapeCopiesZerosUnlessAllowed) {
  OnnxBuilder m;
  m.input("x", {2, 3, 4}).int64s("target", {0, -1}).node("Reshape", {"x", "target"}, {"y"}).output("y");
  EXPECT_EQ(lowered(m).shape("y"), "2x12");
}

TEST(OnnxShape, ReshapeThatDoesNotFitNamesBothSizes) {
  OnnxBuilder m;
  m.input("x", {2, 3}).int64s("target", {4, 2}).node("Reshape", {"x", "target"}, {"y"}).output("y");
  EXPECT_THAT(lowered(m).error(), HasSubstr("[2, 3] does not fit [4, 2]"));
}

TEST(OnnxShape, AxesMoveFromAttributeToInput) {
  OnnxBuilder old_style(12);
  old_style.input("x", {1, 3, 1})
      .node("Squeeze", {"x"}, {"y"}, {{"axes", ints{0}}})
      .node("Unsqueeze", {"y"}, {"z"}, {{"axes", ints{0, -1}}});
  old_style.output("z");
  EXPECT_EQ(lowered(old_style).shape("z"), "1x3x1x1");
  OnnxBuilder new_style(13);
  new_style.input("x", {1, 3, 1}).int64s("first", {0}).int64s("both", {0, -1});
  new_style.node("Squeeze", {"x", "first"}, {"y"}).node("Unsqueeze", {"y", "both"}, {"z"}).output("z");
  EXPECT_EQ(lowered(new_style).shape("z"), "1x3x1x1");
}

TEST(OnnxShape, SliceOfEveryEra) {
  OnnxBuilder old_style(9);
  old_style.input("x", {20, 10, 5})
      .node("Slice", {"x"}, {"y"}, {{"starts", ints{0, 3}}, {"ends", ints{3, 1000}}, {"axes", ints{0, 1}}})
      .output("y");
  EXPECT_EQ(lowered(old_style).shape("y"), "3x7x5");
  OnnxBuilder m(13);
  m.input("x", {20, 10, 5}).int64s("s", {1, 0}).int64s("e", {-1, 10}).int64s("a", {0, 1}).int64s("t", {3, 1});
  m.node("Slice", {"x", "s", "e", "a", "t"}, {"y"}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "6x10x5");  // 1, 4, … 16: six of nineteen
  EXPECT_EQ(g.ops(), "slice");        // the dim that is taken whole is no op in eager mode
}

TEST(OnnxShape, SplitIntoEqualAndLastSmallerParts) {
  OnnxBuilder m(18);
  m.input("x", {7, 2}).node("Split", {"x"}, {"a", "b", "c"}, {{"num_outputs", 3}}).output("a").output("b").output("c");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("a"), "3x2");
  EXPECT_EQ(g.shape("c"), "1x2");
}

TEST(OnnxShape, PadsInOnnxOrderBecomeTorchs) {
  OnnxBuilder m(13);
  m.input("x", {1, 2, 3, 4}).int64s("p", {0, 0, 1, 2, 0, 0, 3, 4}).node("Pad", {"x", "p"}, {"y"}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "1x2x7x10");
  EXPECT_THAT(g.node("constant_pad_nd").attr_ints("pad"), ::testing::ElementsAre(2, 4, 1, 3));
}

TEST(OnnxShape, TwoSwappedDimsAreATranspose) {
  OnnxBuilder m;
  m.input("x", {2, 3, 4})
      .node("Transpose", {"x"}, {"y"}, {{"perm", ints{0, 2, 1}}})
      .node("Transpose", {"y"}, {"z"}, {{"perm", ints{1, 2, 0}}})
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "transpose permute");
  EXPECT_EQ(g.shape("z"), "4x3x2");
}

TEST(OnnxShape, OpenDimsAreAssumedAndSaid) {
  OnnxBuilder m;
  m.input("ids", {"batch", "sequence"}, 7)
      .input("image", {"batch", 3, "height", "width"})
      .node("Relu", {"image"}, {"y"})
      .node("Neg", {"ids"}, {"z"});
  m.output("y").output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("z"), "1x128");
  EXPECT_EQ(g.shape("y"), "1x3x224x224");
  EXPECT_EQ(g.notes.count("dynamic_dim_assumed"), 4);
}

TEST(OnnxShape, AnInputGivenByNameBindsItsSymbolsEverywhere) {
  OnnxBuilder m;
  m.input("a", {"n", "width"}).input("b", {"n", "width"}).node("Add", {"a", "b"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.inputs = {{"a", Shape{3, 9}, {}}}});
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "3x9");
  EXPECT_THAT(lowered(m, {.inputs = {{"c", Shape{3, 9}, {}}}}).error(), HasSubstr("no input named c"));
}

}  // namespace
}  // namespace ullage::onnx
