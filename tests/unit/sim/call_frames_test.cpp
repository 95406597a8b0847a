#include "ullage/sim/call_frames.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

// block(x): conv reads x, relu reads the result; then head reads the block's result. In PyTorch the old x lives until
// block returns, though only conv read it.
TEST(CallFrames, ArgumentsLiveUntilTheCallReturns) {
  GraphBuilder g("m", "test");
  const ValueId x0 = g.input("x", DType::f32, {2, 4});
  const auto value = [&](const char* name) { return g.activation(name, DType::f32, {2, 4}); };
  const ValueId x = value("stem"), a = value("a"), b = value("b"), c = value("c"), d = value("d");
  g.node("relu", "n1", g.module("stem"), {x0}, {x});
  g.node("relu", "n2", g.module("block.conv"), {x}, {a});
  g.node("relu", "n3", g.module("block.act"), {a}, {b});
  g.node("relu", "n4", g.module("block"), {b}, {c});
  g.node("relu", "n5", g.module("head"), {c}, {d});
  const Graph graph = std::move(g).finish().value();
  const auto held = held_until(graph);
  EXPECT_EQ(held[x.index].index, 4u);  // the last node of block, not n2
  EXPECT_EQ(held[a.index].index, 3u);  // an argument of block.act alone
  EXPECT_EQ(held[b.index].index, 4u);
  EXPECT_EQ(held[c.index].index, 5u);
  EXPECT_EQ(held[d.index].index, 5u);  // made and never read
}

}  // namespace
}  // namespace ullage
