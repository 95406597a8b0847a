#include "ullage/ir/graph.h"

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ullage/ir/op_table.h"

namespace ullage {
namespace {

GraphBuilder small() { return GraphBuilder("small", "test"); }

TEST(Graph, ParametersAndBuffersAddUp) {
  GraphBuilder b = small();
  b.parameter("w", DType::f32, {64, 3, 7, 7});
  b.parameter("half", DType::f16, {10});
  b.buffer("running_mean", DType::f32, {64});
  b.constant("eps", DType::f32, {});
  const Graph graph = std::move(b).finish().value();
  EXPECT_EQ(graph.parameter_count(), 9418);
  EXPECT_EQ(graph.parameter_bytes(), Bytes(37652));
  EXPECT_EQ(graph.buffer_bytes(), Bytes(256));
  EXPECT_EQ(graph.values.size(), 4u);
}

TEST(Graph, AttributesByName) {
  Node node;
  node.attrs = {
      {"dim", int64_t{-1}}, {"p", 0.5}, {"stride", std::vector<int64_t>{2, 1}}, {"mode", std::string("same")}};
  EXPECT_EQ(node.attr_int("dim", 7), -1);
  EXPECT_EQ(node.attr_int("absent", 7), 7);
  EXPECT_EQ(node.attr_float("p", 0), 0.5);
  EXPECT_EQ(node.attr_float("dim", 0), -1.0);
  EXPECT_EQ(node.attr_ints("stride").size(), 2u);
  EXPECT_EQ(node.attr_ints("dim").front(), -1);
  EXPECT_TRUE(node.attr_ints("absent").empty());
  EXPECT_EQ(node.attr_text("mode"), "same");
  EXPECT_TRUE(node.has_attr("p"));
  EXPECT_FALSE(node.has_attr("q"));
}

TEST(Graph, ModulesMakeTheirParents) {
  GraphBuilder b = small();
  const ModuleId conv = b.module("layer1.0.conv1", "Conv2d");
  const ModuleId block = b.module("layer1.0");
  EXPECT_EQ(b.module("layer1.0.conv1"), conv);
  const auto& modules = b.graph().modules;
  EXPECT_EQ(modules.size(), 4u);  // the root, layer1, layer1.0, layer1.0.conv1
  EXPECT_EQ(modules[conv].parent, block);
  EXPECT_EQ(modules[conv].type, "Conv2d");
  EXPECT_EQ(modules[modules[block].parent].name, "layer1");
  EXPECT_EQ(b.module(""), modules.first());
}

TEST(Graph, HostileModulePathsStaySmall) {
  GraphBuilder b = small();
  EXPECT_TRUE(b.module(std::string(100'000, '.')));
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "a.";
  EXPECT_TRUE(b.module(deep));
  EXPECT_LE(b.graph().modules.size(), 1u + 2 * kMaxModuleDepth);
  EXPECT_EQ(b.graph().modules[b.module(".a")].name, ".a");
}

TEST(Graph, NamesOfOpsOutliveTheirCaller) {
  GraphBuilder b = small();
  const ValueId x = b.input("x", DType::f32, {4});
  ValueId y = b.activation("y", DType::f32, {4});
  {
    const std::string relu = "relu";
    b.node(relu, "n0", {}, {x}, {y});
  }
  for (int i = 0; i < 100; ++i) {
    const std::string name = fmt::format("custom_{}", i);
    const ValueId z = b.activation("z", DType::f32, {4});
    b.node(name, "n", {}, {y}, {z});
    y = z;
  }
  const std::string in_place = "relu_";
  b.node(in_place, "last", {}, {y}, {b.activation("end", DType::f32, {4})});
  Graph original = std::move(b).finish().value();
  const Graph copy = original;
  original = Graph{};
  EXPECT_EQ(copy.nodes[NodeId{1}].op.data(), find_op("relu")->name.data());
  EXPECT_EQ(copy.nodes[NodeId{2}].op, "custom_0");
  EXPECT_EQ(copy.nodes[NodeId{101}].op, "custom_99");
  EXPECT_EQ(copy.nodes[NodeId{102}].op, "relu_");
}

TEST(GraphFinish, RefusesUseBeforeDefinition) {
  GraphBuilder b = small();
  const ValueId y = b.activation("y", DType::f32, {4});
  const ValueId z = b.activation("z", DType::f32, {4});
  b.node("relu", "first", {}, {y}, {z});
  b.node("relu", "second", {}, {z}, {y});
  const auto graph = std::move(b).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "uses 'y' before any node makes it");
  EXPECT_EQ(graph.error().where, "node 'first' (relu)");
}

TEST(GraphFinish, RefusesAnInputThatNothingMakes) {
  GraphBuilder b = small();
  const ValueId y = b.activation("y", DType::f32, {4});
  b.node("relu", "n", {}, {y}, {b.activation("z", DType::f32, {4})});
  EXPECT_FALSE(std::move(b).finish());
}

TEST(GraphFinish, RefusesTwoProducers) {
  GraphBuilder b = small();
  const ValueId x = b.input("x", DType::f32, {4});
  const ValueId y = b.activation("y", DType::f32, {4});
  b.node("relu", "first", {}, {x}, {y});
  b.node("tanh", "second", {}, {x}, {y});
  const auto graph = std::move(b).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().where, "node 'second' (tanh)");
}

TEST(GraphFinish, RefusesToMakeWhatIsGiven) {
  GraphBuilder b = small();
  const ValueId x = b.input("x", DType::f32, {4});
  b.node("relu", "n", {}, {x}, {x});
  EXPECT_FALSE(std::move(b).finish());
}

TEST(GraphFinish, RefusesNegativeSizesAndMissingOutputs) {
  GraphBuilder negative = small();
  negative.input("x", DType::f32, {4, -1});
  EXPECT_EQ(std::move(negative).finish().error().where, "tensor 'x'");
  GraphBuilder dangling = small();
  dangling.output(dangling.activation("y", DType::f32, {4}));
  EXPECT_EQ(std::move(dangling).finish().error().message, "no node makes the graph's output 'y'");
  GraphBuilder nothing = small();
  nothing.output(ValueId{});
  EXPECT_FALSE(std::move(nothing).finish());
}

// Rows: linear "input, weight, bias?"; cat "tensors…"; lstm "input, hx?, cx?, params…".
TEST(GraphFinish, HoldsNodesToTheirRow) {
  const auto with = [](std::string_view op, size_t inputs, size_t absent) {
    GraphBuilder b = small();
    std::vector<ValueId> given;
    for (size_t i = 0; i < inputs; ++i) given.push_back(i == absent ? ValueId{} : b.input("x", DType::f32, {4, 4}));
    b.node(op, "n", {}, given, {b.activation("y", DType::f32, {4, 4})});
    return std::move(b).finish().has_value();
  };
  constexpr size_t kNone = 99;
  EXPECT_TRUE(with("linear", 2, kNone));
  EXPECT_TRUE(with("linear", 3, 2));
  EXPECT_FALSE(with("linear", 1, kNone));
  EXPECT_FALSE(with("linear", 3, 1));
  EXPECT_FALSE(with("linear", 4, kNone));
  EXPECT_TRUE(with("cat", 40, kNone));
  EXPECT_TRUE(with("lstm", 7, 1));
  EXPECT_FALSE(with("lstm", 7, 0));
  EXPECT_TRUE(with("relu_", 1, kNone));
  EXPECT_FALSE(with("relu_", 2, kNone));
  EXPECT_TRUE(with("nobody_knows", 5, 0));
}

TEST(GraphFinish, TwentyThousandNodesTakeMilliseconds) {
  GraphBuilder b = small();
  ValueId x = b.input("x", DType::f32, {4});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000; ++i) {
    const ValueId y = b.activation("y", DType::f32, {4});
    b.node("relu", "n", b.module(fmt::format("blocks.{}.act", i / 8)), {x}, {y});
    x = y;
  }
  b.output(x);
  ASSERT_TRUE(std::move(b).finish());
  // Some 20 ms in a debug build; a quadratic builder would take seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace ullage
