#include "ullage/ir/passes/inplace.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ullage/ir/op_table.h"

namespace ullage {
namespace {

// torch.nn activations with an `inplace` argument (2.15).
constexpr std::array<std::string_view, 11> kWithInplace = {
    "celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "selu", "silu", "threshold"};

// Ops whose backward reads their own result: overwriting it raises PyTorch's version-counter error
// (autograd.md 2.11, 4.2).
constexpr std::array<std::string_view, 22> kKeepResult = {
    "amax",    "amin",    "cumprod", "exp",        "expm1", "log_softmax", "logsumexp",
    "norm",    "pow",     "prod",    "reciprocal", "relu",  "rsqrt",       "scaled_dot_product_attention",
    "sigmoid", "softmax", "sqrt",    "std",        "tan",   "tanh",        "lstm",
    "gru"};

bool contains(const auto& list, std::string_view op) { return std::ranges::find(list, op) != list.end(); }

std::string_view plain_name(std::string_view op) { return is_inplace(op) ? op.substr(0, op.size() - 1) : op; }

}  // namespace

Graph set_inplace(Graph graph, bool on) {
  std::vector<int> readers(graph.values.size() + 1, 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId value : node.inputs) ++readers[value.index];
  }
  for (const ValueId value : graph.outputs) ++readers[value.index];
  for (Node& node : graph.nodes) {
    const std::string_view plain = plain_name(node.op);
    if (!contains(kWithInplace, plain)) continue;
    if (!on) {
      node.op = find_op(plain)->name;
      continue;
    }
    const Value& input = graph.values[node.inputs[0]];
    if (is_inplace(node.op) || !input.producer || readers[node.inputs[0].index] != 1) continue;
    if (contains(kKeepResult, plain_name(graph.nodes[input.producer].op))) continue;
    graph.op_names.push_back(std::make_shared<const std::string>(std::string(plain) + "_"));
    node.op = *graph.op_names.back();
  }
  return graph;
}

}  // namespace ullage
