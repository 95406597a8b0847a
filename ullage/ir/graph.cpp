#include "ullage/ir/graph.h"

#include <fmt/format.h>

#include "ullage/ir/op_table.h"

namespace ullage {
namespace {

const Attr* find_attr(const Node& node, std::string_view key) {
  for (const Attr& attr : node.attrs)
    if (attr.key == key) return &attr;
  return nullptr;
}

template <class T>
const T* find_attr_as(const Node& node, std::string_view key) {
  const Attr* attr = find_attr(node, key);
  return attr ? std::get_if<T>(&attr->value) : nullptr;
}

// How many tensors an op takes, read off its row: "input, weight, bias?" is {1, 1, 0} and at most 3.
struct Arity {
  std::vector<bool> required;
  bool unlimited = false;
  bool known = false;
};

Arity read_arity(std::string_view inputs) {
  Arity arity{.known = true};
  while (!inputs.empty()) {
    const size_t comma = inputs.find(", ");
    const std::string_view name = inputs.substr(0, comma);
    inputs.remove_prefix(comma == std::string_view::npos ? inputs.size() : comma + 2);
    if (name.ends_with("…")) {
      arity.unlimited = true;
    } else {
      arity.required.push_back(!name.ends_with('?'));
    }
  }
  return arity;
}

std::string place_of(const Node& node) {
  return node.name.empty() ? fmt::format("a node {}", node.op) : fmt::format("node '{}' ({})", node.name, node.op);
}

Status check_arity(const Node& node, const OpRow& row, const Arity& arity) {
  const size_t named = arity.required.size();
  if (node.inputs.size() > named && !arity.unlimited) {
    return fail(ErrorCode::format,
                fmt::format("has {} inputs, but {} takes ({})", node.inputs.size(), row.name, row.inputs),
                place_of(node));
  }
  for (size_t i = 0; i < named; ++i) {
    if (arity.required[i] && (i >= node.inputs.size() || !node.inputs[i])) {
      return fail(ErrorCode::format, fmt::format("lacks input {} of {} ({})", i + 1, row.name, row.inputs),
                  place_of(node));
    }
  }
  return {};
}

Bytes bytes_of_all(const Graph& graph, const std::vector<ValueId>& values) {
  Bytes sum;
  for (const ValueId id : values) sum += graph.values[id].bytes();
  return sum;
}

}  // namespace

int64_t Node::attr_int(std::string_view key, int64_t otherwise) const {
  const auto* found = find_attr_as<int64_t>(*this, key);
  return found ? *found : otherwise;
}

double Node::attr_float(std::string_view key, double otherwise) const {
  if (const auto* found = find_attr_as<double>(*this, key)) return *found;
  const auto* whole = find_attr_as<int64_t>(*this, key);
  return whole ? static_cast<double>(*whole) : otherwise;
}

std::span<const int64_t> Node::attr_ints(std::string_view key) const {
  if (const auto* found = find_attr_as<std::vector<int64_t>>(*this, key)) return *found;
  const auto* single = find_attr_as<int64_t>(*this, key);
  return single ? std::span<const int64_t>(single, 1) : std::span<const int64_t>();
}

std::string_view Node::attr_text(std::string_view key) const {
  const auto* found = find_attr_as<std::string>(*this, key);
  return found ? std::string_view(*found) : std::string_view();
}

bool Node::has_attr(std::string_view key) const { return find_attr(*this, key) != nullptr; }

int64_t Graph::parameter_count() const {
  int64_t count = 0;
  for (const ValueId id : parameters) count = saturating_add(count, values[id].shape.numel());
  return count;
}

Bytes Graph::parameter_bytes() const { return bytes_of_all(*this, parameters); }
Bytes Graph::buffer_bytes() const { return bytes_of_all(*this, buffers); }

GraphBuilder::GraphBuilder(std::string name, std::string format) {
  graph_.name = std::move(name);
  graph_.format = std::move(format);
  modules_.emplace("", graph_.modules.push(Module{}));
}

ValueId GraphBuilder::add(std::string name, DType dtype, Shape shape, ValueKind kind) {
  return graph_.values.push(Value{.name = std::move(name), .dtype = dtype, .kind = kind, .shape = shape});
}

ValueId GraphBuilder::input(std::string name, DType dtype, Shape shape) {
  return graph_.inputs.emplace_back(add(std::move(name), dtype, shape, ValueKind::input));
}
ValueId GraphBuilder::parameter(std::string name, DType dtype, Shape shape) {
  return graph_.parameters.emplace_back(add(std::move(name), dtype, shape, ValueKind::parameter));
}
ValueId GraphBuilder::buffer(std::string name, DType dtype, Shape shape) {
  return graph_.buffers.emplace_back(add(std::move(name), dtype, shape, ValueKind::buffer));
}
ValueId GraphBuilder::constant(std::string name, DType dtype, Shape shape) {
  return add(std::move(name), dtype, shape, ValueKind::constant);
}
ValueId GraphBuilder::activation(std::string name, DType dtype, Shape shape) {
  return add(std::move(name), dtype, shape, ValueKind::activation);
}
void GraphBuilder::output(ValueId value) { graph_.outputs.push_back(value); }

ModuleId GraphBuilder::module(std::string_view path, std::string_view type) {
  ModuleId id = graph_.modules.first();
  size_t end = 0;
  for (int depth = 0; end < path.size() && depth < kMaxModuleDepth; ++depth) {
    end = std::min(path.find('.', depth == 0 ? 0 : end + 1), path.size());
    const std::string_view prefix = path.substr(0, end);
    if (const auto found = modules_.find(prefix); found != modules_.end()) {
      id = found->second;
      continue;
    }
    id = graph_.modules.push(Module{.name = std::string(prefix), .parent = id});
    modules_.emplace(prefix, id);
  }
  if (!type.empty() && graph_.modules[id].type.empty()) graph_.modules[id].type = type;
  return id;
}

std::string_view GraphBuilder::keep_name(std::string_view op) {
  if (const OpRow* row = find_op(op); row && row->name == op) return row->name;
  if (const auto found = kept_names_.find(op); found != kept_names_.end()) return found->second;
  const std::string_view kept = *graph_.op_names.emplace_back(std::make_shared<const std::string>(op));
  kept_names_.emplace(op, kept);
  return kept;
}

NodeId GraphBuilder::node(std::string_view op, std::string name, ModuleId module, std::vector<ValueId> inputs,
                          std::vector<ValueId> outputs, std::vector<Attr> attrs) {
  const NodeId id = graph_.nodes.push(Node{.op = keep_name(op),
                                           .name = std::move(name),
                                           .module = module ? module : graph_.modules.first(),
                                           .inputs = std::move(inputs),
                                           .outputs = std::move(outputs),
                                           .attrs = std::move(attrs)});
  for (const ValueId output : graph_.nodes[id].outputs) {
    if (!graph_.values.contains(output)) continue;  // finish() judges
    NodeId& producer = graph_.values[output].producer;
    if (producer && !made_twice_) made_twice_ = id;
    producer = id;
  }
  return id;
}

Result<Graph> GraphBuilder::finish() && {
  const auto label = [&](ValueId id) { return fmt::format("'{}'", graph_.values[id].name); };
  if (made_twice_) {
    return fail(ErrorCode::format, "makes a tensor that another node makes already",
                place_of(graph_.nodes[made_twice_]));
  }
  for (const Value& value : graph_.values) {
    for (const int64_t size : value.shape.sizes()) {
      if (size < 0) {
        return fail(ErrorCode::format, fmt::format("has a negative size: {}", value.shape.to_string()),
                    fmt::format("tensor '{}'", value.name));
      }
    }
  }
  std::vector<Arity> arities(op_table().size());
  NodeId id = graph_.nodes.first();
  for (const Node& node : graph_.nodes) {
    for (const ValueId input : node.inputs) {
      if (!input) continue;
      if (!graph_.values.contains(input))
        return fail(ErrorCode::format, "has an input that does not exist", place_of(node));
      const Value& value = graph_.values[input];
      if (value.kind == ValueKind::activation && (!value.producer || value.producer >= id)) {
        return fail(ErrorCode::format, fmt::format("uses {} before any node makes it", label(input)), place_of(node));
      }
    }
    if (node.outputs.empty()) return fail(ErrorCode::format, "has no outputs", place_of(node));
    for (const ValueId output : node.outputs) {
      if (!output) continue;
      if (!graph_.values.contains(output))
        return fail(ErrorCode::format, "has an output that does not exist", place_of(node));
      if (graph_.values[output].kind != ValueKind::activation) {
        return fail(ErrorCode::format, fmt::format("makes {}, which is given and not made", label(output)),
                    place_of(node));
      }
    }
    if (const OpRow* row = find_op(node.op)) {
      Arity& arity = arities[static_cast<size_t>(row - op_table().data())];
      if (!arity.known) arity = read_arity(row->inputs);
      UL_TRY_STATUS(check_arity(node, *row, arity));
    }
    ++id.index;
  }
  for (const ValueId output : graph_.outputs) {
    if (!graph_.values.contains(output)) return fail(ErrorCode::format, "an output of the graph does not exist");
    const Value& value = graph_.values[output];
    if (value.kind == ValueKind::activation && !value.producer) {
      return fail(ErrorCode::format, fmt::format("no node makes the graph's output {}", label(output)));
    }
  }
  return std::move(graph_);
}

}  // namespace ullage
