// Rules: how each op of the vocabulary (ir/op_table.h) behaves in eager mode. A rule is the op's C++ function with the
// arithmetic left out: it makes the temporaries and results that PyTorch makes, in the same order, records what
// backward keeps and how it runs, and counts FLOPs. Rules live in ops/<family>.cpp as rows of one table each; a new op
// is one row.
//
//   void silu(Call& c) {
//     const Tensor& x = c.in[0];
//     Tensor y = c.m.empty_like(x);
//     c.m.record("SiluBackward0", {x}, {y}, {x}, [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
//     c.out[0] = y;
//   }
//   {"silu", silu, Autocast::none, "derivatives.yaml: silu; saved_tensors.csv"}
//
// Rules know nothing of recipes: autocast happens before a rule is called, checkpointing and in-place choices around
// it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ullage/eager/aten.h"
#include "ullage/eager/machine.h"
#include "ullage/ir/graph.h"

namespace ullage::eager {

// What torch.autocast("cuda") does with an op's floating inputs (autocast_mode.h, 2.15; autograd.md 9.1).
enum class Autocast : uint8_t {
  none,         // runs in whatever arrives
  lower,        // cast to the autocast dtype
  fp32,         // cast to float32
  fp32_result,  // dtype=float32 is passed when the caller gave none (softmax, sum, …): the rule asks Call::result_dtype
  promote,      // cast to the widest of the inputs
};

struct Call {
  Machine& m;
  const Graph& graph;
  const Node& node;
  std::vector<Tensor> in;   // as the row of the op orders them; undefined when absent
  std::vector<Tensor> out;  // to be filled: one per output of the node
  bool in_place = false;    // the op was written with a trailing '_': result goes into in[0]

  // Shape that the graph gives output i (shapes do not change under a recipe; dtypes may).
  const Shape& shape(size_t i = 0) const { return graph.values[node.outputs[i]].shape; }
  DType graph_dtype(size_t i = 0) const { return graph.values[node.outputs[i]].dtype; }
  bool wants(size_t i) const { return i < node.outputs.size() && static_cast<bool>(node.outputs[i]); }
};

using RuleFn = void (*)(Call&);

struct RuleRow {
  std::string_view op;  // a name of ir/op_table
  RuleFn forward;
  Autocast autocast;
  std::string_view source;  // where the rule comes from; what `explain` and `list rules` print
};

std::span<const RuleRow* const> all_rules();    // sorted by op
const RuleRow* find_rule(std::string_view op);  // "relu_" finds "relu"; null when there is none

// Runs one graph node as eager mode would: autocast, rule, in-place. An op without a rule allocates its outputs, keeps
// its inputs for backward, returns gradients of their sizes, and is counted as "unknown_op".
std::vector<Tensor> run_op(Machine& m, const Graph& graph, NodeId node, std::vector<Tensor> inputs);

// The same for a node of any graph, labelled with whatever is being run: for rules that are written in other ops
// (ops/compose.h).
std::vector<Tensor> run_node(Machine& m, const Graph& graph, const Node& node, std::vector<Tensor> inputs);

// One table per family, in ops/.
std::span<const RuleRow> activation_rules();
std::span<const RuleRow> attention_rules();
std::span<const RuleRow> convolution_rules();
std::span<const RuleRow> creation_rules();
std::span<const RuleRow> index_rules();
std::span<const RuleRow> loss_rules();
std::span<const RuleRow> matmul_rules();
std::span<const RuleRow> norm_rules();
std::span<const RuleRow> pointwise_rules();
std::span<const RuleRow> pooling_rules();
std::span<const RuleRow> random_rules();
std::span<const RuleRow> recurrent_rules();
std::span<const RuleRow> reduction_rules();
std::span<const RuleRow> resize_rules();
std::span<const RuleRow> shape_rules();

}  // namespace ullage::eager
