#include "ullage/eager/rules.h"

#include <algorithm>
#include <ranges>

#include "ullage/ir/op_table.h"

namespace ullage::eager {
namespace {

using Table = std::vector<const RuleRow*>;

Table gather_rules() {
  Table rows;
  for (const auto family : {activation_rules(), attention_rules(), convolution_rules(), creation_rules(), index_rules(),
                            loss_rules(), matmul_rules(), norm_rules(), pointwise_rules(), pooling_rules(),
                            random_rules(), recurrent_rules(), reduction_rules(), resize_rules(), shape_rules()}) {
    for (const RuleRow& row : family) rows.push_back(&row);
  }
  std::ranges::sort(rows, {}, &RuleRow::op);
  return rows;
}

const Table& table() {
  static const Table rows = gather_rules();  // immutable after the first call
  return rows;
}

const RuleRow* find_exact(std::string_view op) {
  const auto row = std::ranges::lower_bound(table(), op, {}, &RuleRow::op);
  return row != table().end() && (*row)->op == op ? *row : nullptr;
}

DType widest(std::span<const Tensor> inputs) {
  DType dtype = DType::f16;
  for (const Tensor& t : inputs) {
    if (t.defined() && is_floating(t.dtype())) dtype = promote(dtype, t.dtype());
  }
  return dtype;
}

void apply_autocast(Machine& m, Autocast policy, std::vector<Tensor>& inputs) {
  switch (policy) {
    case Autocast::none:
    case Autocast::fp32_result:
      return;
    // The casts are arguments of one call, and compilers evaluate those from the last to the first.
    case Autocast::lower:
      for (Tensor& t : inputs | std::views::reverse) t = m.autocast_lower(t);
      return;
    case Autocast::fp32:
      for (Tensor& t : inputs | std::views::reverse) t = m.autocast_fp32(t);
      return;
    case Autocast::promote:
      if (widest(inputs) == DType::f32) {
        for (Tensor& t : inputs | std::views::reverse) t = m.autocast_fp32(t);
      }
      return;
  }
}

void unknown_op(Call& c) {
  c.m.notes().add("unknown_op", c.node.op);
  for (size_t i = 0; i < c.out.size(); ++i) {
    if (c.wants(i)) c.out[i] = c.m.empty(c.shape(i), c.graph_dtype(i));
  }
  std::vector<Tensor> results;
  for (const Tensor& t : c.out) {
    if (t.defined()) results.push_back(t);
  }
  c.m.record("UnknownBackward", c.in, results, c.in, [](Backward& b) {
    for (size_t i = 0; i < b.results().size(); ++i) {
      if (b.needs(i)) b.set(i, b.m.empty(b.input(i).sizes, b.input(i).dtype));
    }
  });
}

}  // namespace

std::span<const RuleRow* const> all_rules() { return table(); }

const RuleRow* find_rule(std::string_view op) {
  if (const RuleRow* row = find_exact(op)) return row;
  return op.ends_with('_') ? find_exact(op.substr(0, op.size() - 1)) : nullptr;
}

std::vector<Tensor> run_node(Machine& m, const Graph& graph, const Node& node, std::vector<Tensor> inputs) {
  const RuleRow* row = find_rule(node.op);
  if (row && m.autocast()) apply_autocast(m, row->autocast, inputs);
  Call call{m, graph, node, std::move(inputs), std::vector<Tensor>(node.outputs.size()), row && row->op != node.op};
  if (row) {
    row->forward(call);
  } else {
    unknown_op(call);
  }
  return std::move(call.out);
}

std::vector<Tensor> run_op(Machine& m, const Graph& graph, NodeId id, std::vector<Tensor> inputs) {
  Owner owner(m, id.index);
  std::vector<Tensor> out = run_node(m, graph, graph.nodes[id], std::move(inputs));
  NodeStats& stats = m.stats(id.index);
  stats.output = Bytes(0);
  for (const Tensor& t : out) {
    if (t.defined() && !t.on_host()) stats.output += t.bytes();
  }
  return out;
}

}  // namespace ullage::eager
