// If, Loop, Scan, sequences: what becomes of subgraphs.
#include <gmock/gmock.h>

#include "tests/support/onnx_builder.h"

namespace ullage::onnx {
namespace {

using ::testing::HasSubstr;

TEST(OnnxControlFlow, AKnownConditionTakesItsBranch) {
  OnnxBuilder yes;
  yes.node("Relu", {"x"}, {"a"}).output("a");
  OnnxBuilder no;
  no.node("Exp", {"x"}, {"b"}).output("b");
  OnnxBuilder m;
  m.input("x", {4}).node("Constant", {}, {"c"}, {{"value", OnnxBuilder::TensorText{9, {}, {0}}}});
  m.node("If", {"c"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "exp");
  EXPECT_EQ(g.notes.count("control_flow_worst_branch"), 0);
}

TEST(OnnxControlFlow, OfAnUnknownConditionTheHeavierBranchCounts) {
  OnnxBuilder light;
  light.node("Relu", {"x"}, {"a"}).output("a");
  OnnxBuilder heavy;
  heavy.weight("w", {64, 8}).node("MatMul", {"x", "w"}, {"h"}).node("ReduceMax", {"h"}, {"b"}).output("b");
  OnnxBuilder m;
  m.input("x", {4, 64})
      .input("c", {1}, 9)
      .node("If", {"c"}, {"y"}, {{"then_branch", light}, {"else_branch", heavy}})
      .output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "linear amax");
  EXPECT_EQ(g.graph->parameter_count(), 512);
  EXPECT_EQ(g.notes.count("control_flow_worst_branch"), 1);
}

OnnxBuilder adding_body() {  // carried += x; scan output: the carried value
  OnnxBuilder body;
  body.input("i", {}, 7).input("go", {}, 9).input("s", {4});
  body.node("Add", {"s", "x"}, {"t"}).node("Identity", {"go"}, {"go_on"}).node("Relu", {"t"}, {"row"});
  return body.output("go_on").output("t").output("row");
}

TEST(OnnxControlFlow, ALoopOfKnownLengthIsUnrolledAndItsScansStacked) {
  const OnnxBuilder body = adding_body();
  OnnxBuilder m;
  m.input("x", {4})
      .scalar("three", 3)
      .node("Loop", {"three", "", "x"}, {"last", "rows"}, {{"body", body}})
      .output("last")
      .output("rows");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "add relu add relu add relu stack");
  EXPECT_EQ(g.shape("rows"), "3x4");
  EXPECT_EQ(g.notes.count("loop_trip_count_assumed"), 0);
}

TEST(OnnxControlFlow, ALoopOfUnknownLengthRunsOnceAndSaysSo) {
  const OnnxBuilder body = adding_body();
  OnnxBuilder m;
  m.input("x", {4})
      .input("n", {}, 7)
      .node("Loop", {"n", "", "x"}, {"last", "rows"}, {{"body", body}})
      .output("last")
      .output("rows");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "add relu stack");
  EXPECT_EQ(g.notes.count("loop_trip_count_assumed"), 1);
}

TEST(OnnxControlFlow, ScanWalksTheFirstDim) {
  OnnxBuilder body;
  body.input("s", {4})
      .input("x_t", {4})
      .node("Add", {"s", "x_t"}, {"t"})
      .node("Tanh", {"t"}, {"o"})
      .output("t")
      .output("o");
  OnnxBuilder m;
  m.input("x", {3, 4})
      .weight("s0", {4})
      .node("Scan", {"s0", "x"}, {"s_last", "o_all"}, {{"body", body}, {"num_scan_inputs", 1}})
      .output("o_all");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "select add tanh select add tanh select add tanh stack");
  EXPECT_EQ(g.shape("o_all"), "3x4");
}

TEST(OnnxControlFlow, SequencesExistOnlyAtImport) {
  OnnxBuilder m;
  m.input("x", {6, 4}).scalar("two", 2).scalar("one", 1);
  m.node("SplitToSequence", {"x", "two"}, {"s"})
      .node("SequenceAt", {"s", "one"}, {"part"})
      .node("SequenceInsert", {"s", "part"}, {"s2"});
  m.node("ConcatFromSequence", {"s2"}, {"y"}, {{"axis", 0}}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "split cat");
  EXPECT_EQ(g.shape("y"), "8x4");
}

TEST(OnnxControlFlow, ANameOfASubgraphEndsWithIt) {
  OnnxBuilder inner;
  inner.node("Relu", {"x"}, {"local"}).output("local");
  OnnxBuilder m;
  m.input("x", {4}).input("c", {1}, 9).node("If", {"c"}, {"y"}, {{"then_branch", inner}, {"else_branch", inner}});
  m.node("Exp", {"local"}, {"z"}).output("z");
  EXPECT_THAT(lowered(m).error(), HasSubstr("local"));
}

}  // namespace
}  // namespace ullage::onnx
