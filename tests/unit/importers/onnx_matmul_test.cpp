// Products, normalisations, lookups, recurrences and attention: what of them is a module's weight, and in which layout.
#include <gmock/gmock.h>

#include "tests/support/onnx_builder.h"

namespace ullage::onnx {
namespace {

TEST(OnnxMatmul, AConstantMatrixAndABiasAreALinearWithTorchsWeight) {
  OnnxBuilder m;
  m.input("x", {"batch", 10, 32}).weight("onnx::MatMul_7", {32, 48}).weight("fc.bias", {48});
  m.node("MatMul", {"x", "onnx::MatMul_7"}, {"h"}).node("Add", {"fc.bias", "h"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 2});
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "linear");
  EXPECT_EQ(g.shape("onnx::MatMul_7"), "48x32");  // [out, in], as nn.Linear owns it
  EXPECT_EQ(g.shape("y"), "2x10x48");
  EXPECT_EQ(g.node("linear").inputs.size(), 3U);
}

TEST(OnnxMatmul, ATiedTableKeepsItsLayout) {  // embedding and head share [vocabulary, width]
  OnnxBuilder m;
  m.input("ids", {2, 5}, 7).weight("wte", {100, 16});
  m.node("Gather", {"wte", "ids"}, {"h"})
      .node("Transpose", {"wte"}, {"t"}, {{"perm", ints{1, 0}}})
      .node("MatMul", {"h", "t"}, {"y"})
      .output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "embedding linear");
  EXPECT_EQ(g.graph->parameter_count(), 1600);
  EXPECT_EQ(g.shape("y"), "2x5x100");
}

TEST(OnnxMatmul, AMatrixReadInBothLayoutsIsSeenThroughAView) {
  OnnxBuilder m;
  m.input("x", {2, 16})
      .weight("w", {16, 16})
      .node("MatMul", {"x", "w"}, {"h"})
      .node("Mul", {"w", "w"}, {"z"})
      .output("h")
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "transpose linear mul");
  EXPECT_EQ(g.graph->parameters.size(), 1U);
}

TEST(OnnxMatmul, GemmOfEveryOrientation) {
  OnnxBuilder m;
  m.input("x", {4, 8}).weight("a.weight", {3, 8}).weight("a.bias", {3}).weight("b.weight", {8, 3});
  m.node("Gemm", {"x", "a.weight", "a.bias"}, {"y"}, {{"transB", 1}})
      .node("Gemm", {"x", "b.weight"}, {"z"})
      .output("y")
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "linear linear");
  EXPECT_EQ(g.shape("b.weight"), "3x8");
}

TEST(OnnxMatmul, BatchDimsBroadcastAndVectorsLoseTheirs) {
  OnnxBuilder m;
  m.input("a", {3, 1, 4, 5}).input("b", {2, 5, 6}).input("v", {5});
  m.node("MatMul", {"a", "b"}, {"y"}).node("MatMul", {"a", "v"}, {"z"}).output("y").output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "3x2x4x6");
  EXPECT_EQ(g.shape("z"), "3x1x4");
}

TEST(OnnxMatmul, EinsumSizes) {
  OnnxBuilder m;
  m.input("q", {2, 5, 4, 8}).input("k", {2, 7, 4, 8});
  m.node("Einsum", {"q", "k"}, {"y"}, {{"equation", "bqhd, bkhd -> bhqk"}})
      .node("Einsum", {"q"}, {"z"}, {{"equation", "...d->d..."}});
  const Lowered g = lowered(m.output("y").output("z"));
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "2x4x5x7");
  EXPECT_EQ(g.shape("z"), "8x2x5x4");
}

TEST(OnnxNorm, BatchNormOwnsACounterThatTheExportLeftOut) {
  OnnxBuilder m(15);
  m.input("x", {2, 8, 4, 4})
      .weight("bn.weight", {8})
      .weight("bn.bias", {8})
      .weight("bn.running_mean", {8})
      .weight("bn.running_var", {8});
  m.node("BatchNormalization", {"x", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"y", "m", "v"},
         {{"training_mode", 1}});
  const Lowered g = lowered(m.output("y"));
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.graph->parameter_count(), 16);
  EXPECT_EQ(g.graph->buffer_bytes(), Bytes(8 * 4 * 2 + 8));
  EXPECT_EQ(g.shape("bn.num_batches_tracked"), "scalar");
  EXPECT_EQ(g.node("batch_norm").attr_int("training", 0), 1);
  EXPECT_EQ(g.graph->modules[g.node("batch_norm").module].name, "bn");
}

TEST(OnnxNorm, TheListOfTheExporterDecidesWhatIsABuffer) {
  OnnxBuilder m;
  m.metadata("ullage.parameters", "b\na").metadata("ullage.buffers", "table");
  m.input("x", {4}).weight("table", {4}).weight("a", {4}).weight("b", {4}).weight("lifted", {4});
  m.node("Add", {"x", "table"}, {"s"}).node("Mul", {"s", "a"}, {"t"}).node("Mul", {"t", "lifted"}, {"y"}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "add mul constant mul");  // a lifted constant is made by Python at every forward
  ASSERT_EQ(g.graph->parameters.size(), 2U);   // b is there although no op reads it
  EXPECT_EQ(g.graph->values[g.graph->parameters[0]].name, "b");
  EXPECT_EQ(g.graph->buffers.size(), 1U);
}

TEST(OnnxIndex, ScalarIndexSelectsTokensLookUpAndVectorsSelect) {
  OnnxBuilder m;
  m.input("x", {4, 6, 8})
      .input("tokens", {4, 5}, 7)
      .weight("emb.weight", {100, 16})
      .scalar("two", 2)
      .input("places", {3}, 7);
  m.node("Gather", {"x", "two"}, {"a"}, {{"axis", 1}})
      .node("Gather", {"emb.weight", "tokens"}, {"b"})
      .node("Gather", {"x", "places"}, {"c"}, {{"axis", 2}});
  const Lowered g = lowered(m.output("a").output("b").output("c"));
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "select embedding index_select");
  EXPECT_EQ(g.shape("a"), "4x8");
  EXPECT_EQ(g.shape("b"), "4x5x16");
  EXPECT_EQ(g.shape("c"), "4x6x3");
}

TEST(OnnxRecurrent, LstmOutputsAreViewsOfTorchs) {
  OnnxBuilder m(14);
  m.input("x", {7, 3, 10}).weight("w", {2, 80, 10}).weight("r", {2, 80, 20}).weight("b", {2, 160});
  m.node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"}, {{"hidden_size", 20}, {"direction", "bidirectional"}})
      .output("y")
      .output("h")
      .output("c");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "lstm view transpose");
  EXPECT_EQ(g.shape("y"), "7x2x3x20");  // [steps, directions, batch, hidden]
  EXPECT_EQ(g.shape("h"), "2x3x20");
  EXPECT_EQ(g.graph->parameter_count(), 2 * 80 * 10 + 2 * 80 * 20 + 2 * 160);
}

TEST(OnnxAttention, OneOpWithDropoutFromTheMetadata) {
  OnnxBuilder m(23);
  m.input("q", {2, 8, 5, 16}).input("k", {2, 2, 9, 16}).input("v", {2, 2, 9, 24});
  m.node("Attention", {"q", "k", "v"}, {"y"}, {{"is_causal", 1}}, "", {{"ullage.dropout_p", "0.1"}}).output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "scaled_dot_product_attention");
  EXPECT_EQ(g.shape("y"), "2x8x5x24");
  const auto& node = g.node("scaled_dot_product_attention");
  EXPECT_EQ(node.attr_float("dropout_p", 0), 0.1);
  EXPECT_EQ(node.attr_int("enable_gqa", 0), 1);
}

TEST(OnnxAttention, TheFusedOneOfOnnxRuntimeComesApart) {
  OnnxBuilder m;
  m.input("x", {2, 5, 32}).weight("w", {32, 96}).weight("b", {96});
  m.node("Attention", {"x", "w", "b"}, {"y"}, {{"num_heads", 4}}, "com.microsoft").output("y");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(),
            "linear split view transpose view transpose view transpose scaled_dot_product_attention transpose reshape");
  EXPECT_EQ(g.shape("y"), "2x5x32");
  EXPECT_EQ(g.shape("w"), "96x32");
}

TEST(OnnxReduction, AxesFromAttributeOrInputAndOnesKept) {
  OnnxBuilder old_style(11);
  old_style.input("x", {2, 3, 4}).node("ReduceSum", {"x"}, {"y"}, {{"axes", ints{1, -1}}, {"keepdims", 0}}).output("y");
  EXPECT_EQ(lowered(old_style).shape("y"), "2");
  OnnxBuilder m(18);
  m.input("x", {2, 3, 4})
      .int64s("a", {1})
      .node("ReduceMean", {"x", "a"}, {"y"})
      .node("ReduceMax", {"x"}, {"z"}, {{"keepdims", 0}})
      .output("y")
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.shape("y"), "2x1x4");
  EXPECT_EQ(g.shape("z"), "scalar");
  EXPECT_EQ(g.ops(), "mean amax");
}

TEST(OnnxReduction, SoftmaxBeforeOpset13SpansTheDimsFromItsAxis) {
  OnnxBuilder m(11);
  m.input("x", {2, 3, 4})
      .node("Softmax", {"x"}, {"y"})
      .node("Softmax", {"x"}, {"z"}, {{"axis", 2}})
      .output("y")
      .output("z");
  const Lowered g = lowered(m);
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "reshape softmax reshape softmax");
}

}  // namespace
}  // namespace ullage::onnx
