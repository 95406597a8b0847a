// The loops of autograd.md 16.3 and 12.4: MLP-4 = 4 x (Linear(256, 256, no bias) + ReLU), batch 64; A = one activation,
// W = 4 A.
#include "ullage/sim/training_loop.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "ullage/ir/passes/append_loss.h"

namespace ullage {
namespace {

constexpr int64_t kA = 64 * 256 * 4;

Graph mlp(int layers, bool relu = true) {
  GraphBuilder b("mlp", "test");
  ValueId x = b.input("x", DType::f32, {64, 256});
  const ModuleId root = b.module("");
  for (int i = 0; i < layers; ++i) {
    const ValueId w = b.parameter("w" + std::to_string(i), DType::f32, {256, 256});
    const ValueId y = b.activation("y" + std::to_string(i), DType::f32, {64, 256});
    b.node("linear", "fc" + std::to_string(i), root, {x, w}, {y});
    x = y;
    if (!relu) continue;
    const ValueId r = b.activation("r" + std::to_string(i), DType::f32, {64, 256});
    b.node("relu", "relu" + std::to_string(i), root, {y}, {r});
    x = r;
  }
  b.output(x);
  Result<Graph> graph = std::move(b).finish();
  EXPECT_TRUE(graph);
  return std::move(*graph);
}

// A chain of ops without parameters that each keep their input (GELU), behind one trainable scale.
Graph chain(int count) {
  GraphBuilder b("chain", "test");
  ValueId x = b.input("x", DType::f32, {64, 256});
  const ModuleId root = b.module("");
  const ValueId w = b.parameter("w", DType::f32, {256});
  ValueId y = b.activation("scaled", DType::f32, {64, 256});
  b.node("add", "scale", root, {x, w}, {y});
  for (int i = 0; i < count; ++i) {
    const ValueId next = b.activation("y" + std::to_string(i), DType::f32, {64, 256});
    b.node("gelu", "gelu" + std::to_string(i), root, {y}, {next});
    y = next;
  }
  b.output(y);
  return *std::move(b).finish();
}

struct Curve {
  StepProgram program;
  std::vector<int64_t> live;  // after each event

  // Highest point in units of A above weights, inputs and targets, without workspaces, between two marks.
  double peak(std::string_view from, std::string_view to, int step, int64_t base) const {
    size_t begin = 0;
    size_t end = 0;
    for (const ProgramMark& mark : program.marks()) {
      if (mark.name == from && (mark.step == step || from == "after_inputs")) begin = mark.event;
      if (mark.name == to && mark.step == step) end = mark.event;
    }
    const int64_t top =
        *std::max_element(live.begin() + static_cast<int64_t>(begin), live.begin() + static_cast<int64_t>(end));
    return static_cast<double>(top - base) / kA;
  }
  double at(std::string_view name, int step, int64_t base) const {
    for (const ProgramMark& mark : program.marks()) {
      if (mark.name == name && mark.step == step) return static_cast<double>(live[mark.event] - base) / kA;
    }
    return -1;
  }
};

Curve run(Graph graph, const Recipe& recipe, LossRule loss) {
  Curve curve;
  const GraphWithLoss with_loss = *append_loss(std::move(graph), loss);
  eager::Machine m(curve.program, {});
  TrainingLoop loop(m, with_loss.graph, recipe);
  loop.run();
  m.close();
  int64_t live = 0;
  for (size_t i = 0; i < curve.program.event_count(); ++i) {
    const ProgramEvent event = curve.program.event(i);
    if (event.kind == ProgramEventKind::alloc || event.kind == ProgramEventKind::free) {
      const ProgramBlock& block = curve.program.block(event.block());
      if (block.category != Category::workspace)
        live += event.kind == ProgramEventKind::alloc ? block.requested.value : -block.requested.value;
    }
    curve.live.push_back(live);
  }
  return curve;
}

int64_t at_inputs(const Curve& curve) {
  for (const ProgramMark& mark : curve.program.marks()) {
    if (mark.name == "after_inputs") return curve.live[mark.event];
  }
  return -1;
}

// Iteration 1: fwd end 5, bwd end 18 …; the mean of the loss is 2.x's scalar in a full-size storage, so "fwd end 5" is
// 4 ReLU results + it.
TEST(TrainingLoop, SgdStepOfMlp4) {
  Recipe recipe;
  const Curve curve = run(mlp(4), recipe, LossRule::sum);
  const int64_t base = at_inputs(curve);
  EXPECT_NEAR(curve.at("after_forward", 1, base), 4, 0.001);    // four ReLU results; a sum's scalar is 4 bytes
  EXPECT_NEAR(curve.at("after_backward", 1, base), 16, 0.001);  // gradients only
  EXPECT_NEAR(curve.at("after_forward", 2, base), 4, 0.001);    // zero_grad first: the gradients are gone again
}

TEST(TrainingLoop, AdamStateAppearsInTheFirstStepSoTheSecondIsHigher) {
  Recipe recipe;
  recipe.optimizer = "adam";
  const Curve curve = run(mlp(4), recipe, LossRule::sum);
  const int64_t base = at_inputs(curve);
  EXPECT_NEAR(curve.at("after_step", 1, base), 48, 0.001);  // 16 A gradients + 32 A state
  const double first = curve.peak("after_forward", "after_backward", 1, base);
  const double second = curve.peak("after_forward", "after_backward", 2, base);
  EXPECT_NEAR(second - first, 32, 0.001);
}

TEST(TrainingLoop, SetToNoneNoKeepsGradientsThroughForward) {
  Recipe recipe;
  recipe.loop.set_to_none = false;
  const Curve curve = run(mlp(4), recipe, LossRule::sum);
  EXPECT_NEAR(curve.at("after_forward", 2, at_inputs(curve)), 20, 0.001);  // 16 A of zeros under the 4 A of activations
}

TEST(TrainingLoop, AccumulationKeepsGradientsOfTheMicroBatchBefore) {
  Recipe recipe;
  recipe.accumulate = 2;
  const Curve curve = run(mlp(4), recipe, LossRule::sum);
  EXPECT_NEAR(curve.at("after_forward", 1, at_inputs(curve)), 20, 0.001);  // second micro-batch, first one's gradients
}

TEST(TrainingLoop, EvalKeepsTheGraphNoGradDoesNot) {
  Recipe recipe;
  recipe.mode = Mode::forward;
  recipe.steps = 1;
  StepProgram kept;
  const auto end_of = [&](Mode mode) {
    StepProgram program;
    recipe.mode = mode;
    const Graph graph = mlp(4);
    eager::Machine m(program, {});
    TrainingLoop loop(m, graph, recipe);
    loop.run();
    m.close();
    int64_t live = 0;
    int64_t inputs = 0;
    for (size_t i = 0; i < program.event_count(); ++i) {
      const ProgramEvent event = program.event(i);
      if (event.kind == ProgramEventKind::mark && program.marks()[event.id].name == "after_inputs") inputs = live;
      if (event.kind == ProgramEventKind::alloc) live += program.block(event.block()).requested.value;
      if (event.kind == ProgramEventKind::free) live -= program.block(event.block()).requested.value;
    }
    return (live - inputs) / kA;
  };
  EXPECT_EQ(end_of(Mode::forward), 4);  // trap T1
  EXPECT_EQ(end_of(Mode::infer), 1);
}

// 12.4: without checkpointing (n + 1) A; checkpoint_sequential with k segments: (k + s) A from the last, plain piece, s
// = n / k.
TEST(TrainingLoop, CheckpointedChainFollowsTheSqrtRule) {
  for (const auto& [n, k] : {std::pair{16, 4}, {36, 6}, {64, 8}}) {
    Recipe plain;
    const Curve whole = run(chain(n), plain, LossRule::sum);
    Recipe recipe;
    recipe.checkpoint = CheckpointKind::sqrt;
    const Curve curve = run(chain(n), recipe, LossRule::sum);
    const double without = whole.peak("after_inputs", "after_backward", 1, at_inputs(whole));
    const double with = curve.peak("after_inputs", "after_backward", 1, at_inputs(curve));
    EXPECT_NEAR(without, n + 1, 1.1) << n;
    EXPECT_NEAR(with, 2 * std::sqrt(static_cast<double>(n)), 1.6) << n << " " << k;
  }
}

}  // namespace
}  // namespace ullage
