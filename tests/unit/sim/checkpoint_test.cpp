#include "ullage/sim/checkpoint.h"

#include <string>

#include <gtest/gtest.h>

namespace ullage {
namespace {

// Four residual blocks of three ops: relu(conv(x) + x), and a head. A single tensor also crosses between the sum and
// its relu.
Graph residual_blocks() {
  GraphBuilder g("m", "test");
  ValueId x = g.input("x", DType::f32, {2, 4});
  for (const char* block : {"layer1.0", "layer1.1", "layer1.2", "layer1.3"}) {
    const std::string name = block;
    const ValueId a = g.activation(name + ".a", DType::f32, {2, 4});
    const ValueId sum = g.activation(name + ".sum", DType::f32, {2, 4});
    const ValueId y = g.activation(name + ".y", DType::f32, {2, 4});
    g.node("tanh", name + ".conv", g.module(name + ".conv"), {x}, {a});
    g.node("add", name + ".add", g.module(name), {a, x}, {sum});
    g.node("relu", name + ".relu", g.module(name + ".relu"), {sum}, {y});
    x = y;
  }
  const ValueId flat = g.activation("flat", DType::f32, {2, 4});
  g.node("flatten", "head", g.module("head"), {x}, {flat});
  g.output(flat);
  return std::move(g).finish().value();
}

// checkpoint_sequential(nn.Sequential of 4 blocks, 2): the first two blocks are recomputed, the others run plainly.
TEST(Checkpoint, ANumberedBlockIsOneFunction) {
  const Graph graph = residual_blocks();
  Recipe recipe;
  recipe.checkpoint = CheckpointKind::segments;
  recipe.checkpoint_segments = 2;
  const std::vector<NodeRange> regions = checkpoint_regions(graph, recipe);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].first.index, 1u);
  EXPECT_EQ(regions[0].last.index, 6u);
}

// Four functions, so four segments are three blocks of one and the plain rest; more segments than functions are as
// many.
TEST(Checkpoint, SegmentsEndWithBlocks) {
  const Graph graph = residual_blocks();
  Recipe recipe;
  recipe.checkpoint = CheckpointKind::segments;
  for (const int64_t segments : {4, 100}) {
    recipe.checkpoint_segments = segments;
    const std::vector<NodeRange> regions = checkpoint_regions(graph, recipe);
    ASSERT_EQ(regions.size(), 3u);
    EXPECT_EQ(regions[0].last.index, 3u);
    EXPECT_EQ(regions[1].last.index, 6u);
    EXPECT_EQ(regions[2].last.index, 9u);
  }
}

}  // namespace
}  // namespace ullage
