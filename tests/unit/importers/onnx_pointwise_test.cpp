// Element-wise operators: broadcasting, Python numbers instead of tensors, what opsets changed, fusions of decomposed
// activations.
#include <gmock/gmock.h>

#include "tests/support/onnx_builder.h"

namespace ullage::onnx {
namespace {

TEST(OnnxPointwise, BroadcastsAsNumpyDoes) {
  OnnxBuilder m;
  m.input("a", {2, 1, 4})
      .input("b", {3, 1})
      .node("Add", {"a", "b"}, {"y"})
      .node("Less", {"a", "b"}, {"z"})
      .output("y")
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "2x3x4");
  EXPECT_EQ(g.value("z").dtype, DType::boolean);
}

TEST(OnnxPointwise, BeforeOpset7TheAxisSaysWhereTheSecondOperandLies) {
  OnnxBuilder m(6);
  m.input("a", {2, 3, 4, 5})
      .weight("b", {3})
      .node("Add", {"a", "b"}, {"y"}, {{"broadcast", 1}, {"axis", 1}})
      .output("y");
  EXPECT_EQ(lowered(m).shape("y"), "2x3x4x5");
}

TEST(OnnxPointwise, NumbersAreArgumentsNotTensors) {
  OnnxBuilder m;
  m.input("x", {4}).real("half", 0.5F).real("two", 2.0F);
  m.node("Mul", {"x", "half"}, {"a"})
      .node("Sub", {"two", "a"}, {"b"})
      .node("Div", {"two", "b"}, {"c"})
      .node("Pow", {"c", "two"}, {"d"})
      .output("d");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "mul sub reciprocal mul pow");
  EXPECT_EQ(g.node("mul").attr_float("other", 0), 0.5);
  EXPECT_EQ(g.node("sub").attr_int("reverse", 0), 1);
  EXPECT_EQ(g.node("pow").attr_float("exponent", 0), 2);
  EXPECT_EQ(g.graph->parameters.size(), 0U);
}

TEST(OnnxPointwise, ClipOfZeroAndSixIsRelu6InBothForms) {
  OnnxBuilder old_style(6);
  old_style.input("x", {4}).node("Clip", {"x"}, {"y"}, {{"min", 0.0}, {"max", 6.0}}).output("y");
  EXPECT_EQ(lowered(old_style).ops(), "hardtanh");
  OnnxBuilder m(13);
  m.input("x", {4}).real("lo", 0).real("hi", 6).node("Clip", {"x", "lo", "hi"}, {"y"}).output("y");
  EXPECT_EQ(lowered(m).ops(), "hardtanh");
}

TEST(OnnxPointwise, DecomposedActivationsAreRecognised) {
  OnnxBuilder m;
  m.input("x", {4, 8}).real("root", 1.41421354F).real("one", 1).real("half", 0.5F);
  m.node("Sigmoid", {"x"}, {"s"}).node("Mul", {"x", "s"}, {"silu"});
  m.node("Div", {"silu", "root"}, {"d"})
      .node("Erf", {"d"}, {"e"})
      .node("Add", {"e", "one"}, {"p"})
      .node("Mul", {"silu", "p"}, {"q"});
  m.node("Mul", {"q", "half"}, {"y"}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "silu gelu");
}

TEST(OnnxPointwise, ASigmoidThatIsReadTwiceIsKept) {
  OnnxBuilder m;
  m.input("x", {4}).node("Sigmoid", {"x"}, {"s"}).node("Mul", {"x", "s"}, {"y"}).output("y").output("s");
  EXPECT_EQ(lowered(m).ops(), "sigmoid mul");
}

TEST(OnnxPointwise, DecomposedLayerNormIsRecognised) {
  OnnxBuilder m(13);
  m.input("x", {2, 5, 16}).weight("norm.weight", {16}).weight("norm.bias", {16}).real("two", 2).real("eps", 1e-5F);
  m.node("ReduceMean", {"x"}, {"m"}, {{"axes", ints{-1}}})
      .node("Sub", {"x", "m"}, {"c"})
      .node("Pow", {"c", "two"}, {"p"});
  m.node("ReduceMean", {"p"}, {"v"}, {{"axes", ints{-1}}})
      .node("Add", {"v", "eps"}, {"ve"})
      .node("Sqrt", {"ve"}, {"r"})
      .node("Div", {"c", "r"}, {"n"});
  m.node("Mul", {"n", "norm.weight"}, {"w"}).node("Add", {"w", "norm.bias"}, {"y"}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "layer_norm");
  EXPECT_THAT(g.node("layer_norm").attr_ints("normalized_shape"), ::testing::ElementsAre(16));
  EXPECT_EQ(g.node("layer_norm").attr_float("eps", 0), 1e-5);
  EXPECT_EQ(g.graph->parameter_count(), 32);
}

TEST(OnnxPointwise, InPlaceFollowsWhatTheExporterSaw) {
  OnnxBuilder m;
  m.input("x", {4});
  m.node("Relu", {"x"}, {"a"}, {}, "",
         {{"ullage.aten", "aten.relu_.default"}, {"ullage.node", "relu_"}, {"ullage.module", "act"}});
  m.node("Sigmoid", {"a"}, {"s"}, {}, "", {{"ullage.aten", "aten.silu_.default"}, {"ullage.node", "silu_"}});
  m.node("Mul", {"a", "s"}, {"y"}, {}, "", {{"ullage.aten", "aten.silu_.default"}, {"ullage.node", "silu_"}})
      .output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "relu_ silu_");
  EXPECT_EQ(g.graph->modules[g.node("relu_").module].name, "act");
}

TEST(OnnxPointwise, UnknownOperatorsCountWithTheirDeclaredOutputs) {
  OnnxBuilder m;
  m.input("x", {2, 3})
      .node("Mystery", {"x"}, {"y", "z"}, {}, "acme")
      .value_info("y", {7, 7}, 10)
      .output("y")
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "Mystery");
  EXPECT_EQ(g.shape("y"), "7x7");
  EXPECT_EQ(g.value("y").dtype, DType::f16);
  EXPECT_EQ(g.shape("z"), "2x3");
  EXPECT_EQ(g.notes.count("unknown_op"), 1);
}

TEST(OnnxPointwise, WhatNobodyReadsIsDropped) {
  OnnxBuilder m;
  m.input("x", {4}).node("Exp", {"x"}, {"unused"}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(lowered(m).ops(), "relu");
}

}  // namespace
}  // namespace ullage::onnx
