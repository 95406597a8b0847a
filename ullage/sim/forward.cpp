#include "ullage/sim/forward.h"

#include <algorithm>

#include "ullage/eager/rules.h"
#include "ullage/sim/call_frames.h"

namespace ullage {

using eager::Machine;
using eager::Tensor;

Forward::Forward(const Graph& graph, std::vector<NodeRange> regions)
    : graph_(graph),
      regions_(std::move(regions)),
      dropped_after_(graph.nodes.size() + 1),
      values_(graph.values.size() + 1) {
  std::vector<NodeId> last = held_until(graph);
  for (const ValueId value : graph.outputs) last[value.index] = {};
  for (ValueId value = graph.values.first(); value.index <= graph.values.size(); ++value.index) {
    if (!is_resident(value) && last[value.index]) dropped_after_[last[value.index].index].push_back(value);
  }
}

// What the caller holds for the whole step: the model's tensors and the batch.
bool Forward::is_resident(ValueId value) const { return graph_.values[value].kind != ValueKind::activation; }

void Forward::run_nodes(Machine& m, NodeRange range, std::vector<Tensor>& values) {
  for (NodeId id = range.first; id <= range.last; ++id.index) {
    if (m.recompute_finished()) return;
    const Node& node = graph_.nodes[id];
    std::vector<Tensor> inputs;
    inputs.reserve(node.inputs.size());
    for (const ValueId value : node.inputs) inputs.push_back(value ? values[value.index] : Tensor{});
    std::vector<Tensor> outputs = eager::run_op(m, graph_, id, std::move(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i]) values[node.outputs[i].index] = std::move(outputs[i]);
    }
    outputs.clear();
    for (const ValueId value : dropped_after_[id.index]) values[value.index] = {};
  }
}

void Forward::run_region(Machine& m, NodeRange range) {
  auto region = std::make_shared<eager::CheckpointRegion>();
  // What the region reads but does not make, and is not held by somebody else anyway.
  std::vector<ValueId> inputs;
  for (NodeId id = range.first; id <= range.last; ++id.index) {
    for (const ValueId value : graph_.nodes[id].inputs) {
      if (!value || is_resident(value) || graph_.values[value].producer >= range.first) continue;
      if (std::ranges::find(inputs, value) == inputs.end()) inputs.push_back(value);
    }
  }
  for (const ValueId value : inputs) region->inputs.push_back(values_[value.index]);
  // The region is owned by the nodes it records, so the closure must not own it back.
  region->recompute = [this, &m, range, inputs, raw = region.get()] {
    std::vector<Tensor> local(values_.size());
    for (size_t v = 1; v < values_.size(); ++v) {
      if (is_resident(ValueId{static_cast<uint32_t>(v)})) local[v] = values_[v];
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      local[inputs[i].index] = m.detach(raw->inputs[i]);
      local[inputs[i].index].impl()->requires_grad = raw->inputs[i].requires_grad();
    }
    const Phase phase = m.phase();
    m.set_grad_enabled(true);
    m.enter_autocast();
    m.begin_recompute(raw);
    run_nodes(m, range, local);
    m.end_recompute();
    m.exit_autocast();
    m.set_grad_enabled(false);
    m.set_phase(phase, m.step());
  };
  m.begin_region(std::move(region));
  run_nodes(m, range, values_);
  m.end_region();
}

void Forward::run(Machine& m) {
  NodeId next = graph_.nodes.first();
  for (const NodeRange& region : regions_) {
    if (next < region.first) run_nodes(m, {next, NodeId{region.first.index - 1}}, values_);
    run_region(m, region);
    next = NodeId{region.last.index + 1};
  }
  if (next.index <= graph_.nodes.size())
    run_nodes(m, {next, NodeId{static_cast<uint32_t>(graph_.nodes.size())}}, values_);
}

}  // namespace ullage
