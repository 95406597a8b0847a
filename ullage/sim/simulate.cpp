#include "ullage/sim/simulate.h"

#include "ullage/eager/workspace.h"
#include "ullage/ir/passes/append_loss.h"
#include "ullage/ir/passes/inplace.h"
#include "ullage/ir/passes/training_mode.h"
#include "ullage/sim/training_loop.h"

namespace ullage {
namespace {

LossRule loss_rule(LossKind kind) {
  switch (kind) {
    case LossKind::automatic:
      return LossRule::automatic;
    case LossKind::cross_entropy:
      return LossRule::cross_entropy;
    case LossKind::mse:
      return LossRule::mse;
    case LossKind::sum:
      return LossRule::sum;
    case LossKind::output:
      return LossRule::output;
  }
  return LossRule::automatic;
}

// The model's answer, or one end of its range.
class LeaningModel final : public eager::WorkspaceOracle {
 public:
  explicit LeaningModel(Leaning leaning) : leaning_(leaning) {}
  eager::Workspace convolution(const eager::ConvProblem& problem, eager::Direction direction) const override {
    eager::Workspace w = model_.convolution(problem, direction);
    if (leaning_ == Leaning::low) w.expected = w.low;
    if (leaning_ == Leaning::high) w.expected = w.high;
    return w;
  }

 private:
  eager::CudnnModel model_;
  Leaning leaning_;
};

eager::MachineOptions machine_options(const Recipe& recipe, const Device& device) {
  eager::MachineOptions options;
  options.autocast = autocast_dtype(recipe.precision);
  options.allow_tf32 = recipe.precision != Precision::fp32_strict;
  options.cudnn = recipe.cudnn != "off";
  options.channels_last = recipe.channels_last;
  options.compute_capability = device.compute_capability.major * 10 + device.compute_capability.minor;
  options.sm_count = device.sms;
  return options;
}

}  // namespace

Result<Device> device_of(const Recipe& recipe) {
  if (recipe.device.empty()) return capacity_only(recipe.capacity.value_or(kUnlimited));
  UL_TRY(Device device, find_device(recipe.device));
  if (recipe.capacity) device.usable = *recipe.capacity;
  return device;
}

Result<PreparedGraph> prepare(Graph graph, const Recipe& recipe) {
  PreparedGraph out;
  graph = set_training(std::move(graph), recipe.mode == Mode::train);
  if (recipe.inplace != InplaceChoice::asis) graph = set_inplace(std::move(graph), recipe.inplace == InplaceChoice::on);
  if (recipe.mode != Mode::train) {
    out.graph = std::move(graph);
    return out;
  }
  UL_TRY(GraphWithLoss with_loss, append_loss(std::move(graph), loss_rule(recipe.loss)));
  out.graph = std::move(with_loss.graph);
  out.loss = std::move(with_loss.what);
  if (out.graph.parameter_count() == 0) {
    return fail(ErrorCode::unsupported, "the model has no trainable parameters, so there is no training step",
                "parameters",
                "use --mode infer; if the weights are constants in the file, export them as initializers");
  }
  return out;
}

StepProgram write_program(const Graph& prepared, const Recipe& recipe, const Device& device, Leaning leaning,
                          std::vector<eager::NodeStats>& nodes, Diagnostics& notes) {
  StepProgram program;
  const LeaningModel model(leaning);
  eager::MachineOptions options = machine_options(recipe, device);
  if (options.cudnn) options.workspace = &model;
  eager::Machine machine(program, options);
  {
    TrainingLoop loop(machine, prepared, recipe);
    loop.run();
    nodes = machine.all_stats();
    notes.merge(machine.notes());
    machine.close();
  }
  nodes.resize(prepared.nodes.size() + 1);
  for (eager::NodeStats& node : nodes) {
    node.forward_flops /= recipe.steps;
    node.backward_flops /= recipe.steps;
    node.recompute_flops /= recipe.steps;
    node.saved = Bytes(node.saved.value / (recipe.steps * recipe.accumulate));
  }
  return program;
}

Result<Simulation> simulate(const Graph& prepared, const Recipe& recipe, const Device& device, Leaning leaning) {
  Simulation out;
  const StepProgram program = write_program(prepared, recipe, device, leaning, out.nodes, out.notes);
  UL_TRY(auto allocator, make_allocator({.kind = recipe.allocator, .alloc_conf = recipe.alloc_conf}));
  Replay run = replay(program, *allocator);
  out.timeline = std::move(run.timeline);
  out.stats = std::move(run.stats);
  out.out_of_memory = std::move(run.failure);
  return out;
}

}  // namespace ullage
