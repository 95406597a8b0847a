#include "ullage/eager/ops/compose.h"

#include "ullage/eager/rules.h"

namespace ullage::eager {

Tensor run_rule(Machine& m, std::string_view op, std::vector<Tensor> inputs, const Shape& shape,
                std::vector<Attr> attrs) {
  Graph graph;
  Node node{.op = op, .name = {}, .module = {}, .inputs = {}, .outputs = {}, .attrs = std::move(attrs)};
  const auto value = [&](const Shape& sizes, DType dtype) {
    return graph.values.push(
        {.name = {}, .dtype = dtype, .kind = ValueKind::activation, .shape = sizes, .producer = {}});
  };
  for (const Tensor& t : inputs) node.inputs.push_back(t.defined() ? value(t.sizes(), t.dtype()) : ValueId{});
  node.outputs.push_back(value(shape, inputs[0].dtype()));
  return std::move(run_node(m, graph, node, std::move(inputs))[0]);
}

}  // namespace ullage::eager
