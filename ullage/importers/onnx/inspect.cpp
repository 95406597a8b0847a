#include "ullage/importers/onnx/inspect.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ullage::onnx {
namespace {

constexpr size_t kLongestText = 200;  // metadata may hold whole label lists

// Calls visit(graph) for the main graph and every subgraph, outermost first.
template <class Visit>
void for_each_graph(const FileGraph& graph, Visit&& visit) {
  visit(graph);
  for (const Node& node : graph.nodes)
    for (const Attribute& attribute : node.attributes)
      for (const FileGraph& inner : attribute.graphs) for_each_graph(inner, visit);
}

std::string domain_name(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

std::string shown(std::string_view text) {
  std::string out(text.substr(0, kLongestText));
  std::ranges::replace(out, '\n', ' ');
  if (text.size() > kLongestText) out += fmt::format("… ({} characters)", text.size());
  return out;
}

std::string dims_of(const ValueInfo& info) {
  if (!info.has_shape) return "unknown";
  if (info.dims.empty()) return "scalar";
  std::vector<std::string> dims;
  for (const Dim& dim : info.dims) {
    dims.push_back(dim.known() ? fmt::format("{}", dim.value) : dim.param.empty() ? "?" : std::string(dim.param));
  }
  return fmt::format("{}", fmt::join(dims, "x"));
}

std::string type_of(const ValueInfo& info) {
  switch (info.kind) {
    case TypeKind::sequence:
      return fmt::format("sequence of {}", name_of(info.dtype));
    case TypeKind::optional:
      return fmt::format("optional {}", name_of(info.dtype));
    case TypeKind::map:
      return "map";
    case TypeKind::opaque:
      return "opaque";
    case TypeKind::sparse_tensor:
      return fmt::format("sparse {}", name_of(info.dtype));
    default:
      return std::string(name_of(info.dtype));
  }
}

InspectSection model_section(const FileModel& model) {
  InspectSection section{.title = "model", .columns = {"what", "value"}, .rows = {}};
  const auto row = [&](std::string what, std::string value) {
    if (!value.empty()) section.rows.push_back({std::move(what), std::move(value)});
  };
  row("file", model.source->name());
  row("size", format_bytes(Bytes(static_cast<int64_t>(model.source->size()))));
  row("IR version", fmt::format("{}", model.ir_version));
  row("producer", shown(model.producer_version.empty() ? std::string(model.producer)
                                                       : fmt::format("{} {}", model.producer, model.producer_version)));
  row("domain", shown(model.domain));
  row("graph", shown(model.graph.name));
  int64_t graphs = 0;
  int64_t nodes = 0;
  for_each_graph(model.graph, [&](const FileGraph& graph) {
    ++graphs;
    nodes += static_cast<int64_t>(graph.nodes.size());
  });
  row("nodes", fmt::format("{}", nodes));
  row("subgraphs", graphs > 1 ? fmt::format("{}", graphs - 1) : "");
  row("training graphs", model.training_graphs > 0 ? fmt::format("{} (not read)", model.training_graphs) : "");
  return section;
}

InspectSection opset_section(const FileModel& model) {
  InspectSection section{.title = "operator sets", .columns = {"domain", "version"}, .rows = {}};
  for (const Opset& opset : model.opsets)
    section.rows.push_back({domain_name(opset.domain), fmt::format("{}", opset.version)});
  return section;
}

InspectSection values_section(std::string title, const std::vector<ValueInfo>& values, const FileGraph& graph) {
  InspectSection section{.title = std::move(title), .columns = {"name", "type", "shape"}, .rows = {}};
  std::vector<std::string_view> initializers;
  for (const Tensor& tensor : graph.initializers) initializers.push_back(tensor.name);
  std::ranges::sort(initializers);
  for (const ValueInfo& info : values) {
    // Before IR 4 every initializer was declared as an input as well.
    if (std::ranges::binary_search(initializers, info.name)) continue;
    section.rows.push_back({shown(info.name), type_of(info), dims_of(info)});
  }
  return section;
}

struct Sum {
  int64_t tensors = 0;
  int64_t elements = 0;
  Bytes bytes;
};

// Tensors by where they are and by type; those of Constant nodes and of subgraphs count as well.
InspectSection weights_section(const FileModel& model) {
  std::map<std::pair<std::string, std::string>, Sum> sums;
  const auto count = [&](const Tensor& tensor, std::string_view where) {
    Sum& sum = sums[{std::string(where), tensor.sparse ? fmt::format("sparse {}", name_of(tensor.dtype))
                                                       : std::string(name_of(tensor.dtype))}];
    ++sum.tensors;
    sum.elements = saturating_add(sum.elements, tensor.numel());
    sum.bytes += bytes_of(tensor.dtype, tensor.numel());
  };
  bool outermost = true;
  for_each_graph(model.graph, [&](const FileGraph& graph) {
    for (const Tensor& tensor : graph.initializers)
      count(tensor, outermost ? "initializers" : "initializers of subgraphs");
    for (const Node& node : graph.nodes) {
      if (node.op != "Constant") continue;
      for (const Attribute& attribute : node.attributes)
        for (const Tensor& tensor : attribute.tensors) count(tensor, "Constant nodes");
    }
    outermost = false;
  });
  InspectSection section{.title = "tensors", .columns = {"where", "type", "tensors", "elements", "size"}, .rows = {}};
  for (const auto& [key, sum] : sums) {
    section.rows.push_back({key.first, key.second, fmt::format("{}", sum.tensors), fmt::format("{}", sum.elements),
                            format_bytes(sum.bytes)});
  }
  return section;
}

InspectSection operators_section(const FileModel& model) {
  std::map<std::pair<std::string_view, std::string_view>, int64_t> counts;
  for_each_graph(model.graph, [&](const FileGraph& graph) {
    for (const Node& node : graph.nodes) ++counts[{node.domain, node.op}];
  });
  std::vector<std::pair<std::pair<std::string_view, std::string_view>, int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
  InspectSection section{.title = "operators", .columns = {"operator", "domain", "nodes"}, .rows = {}};
  for (const auto& [op, count] : sorted)
    section.rows.push_back({shown(op.second), domain_name(op.first), fmt::format("{}", count)});
  return section;
}

InspectSection external_section(const FileModel& model) {
  std::map<std::string_view, Sum> files;
  for_each_graph(model.graph, [&](const FileGraph& graph) {
    for (const Tensor& tensor : graph.initializers) {
      if (tensor.payload != Payload::external) continue;
      Sum& sum = files[tensor.external_file];
      ++sum.tensors;
      sum.bytes += bytes_of(tensor.dtype, tensor.numel());
    }
  });
  InspectSection section{.title = "external data", .columns = {"file", "tensors", "size"}, .rows = {}};
  for (const auto& [file, sum] : files)
    section.rows.push_back({shown(file), fmt::format("{}", sum.tensors), format_bytes(sum.bytes)});
  return section;
}

InspectSection functions_section(const FileModel& model) {
  InspectSection section{.title = "functions", .columns = {"name", "domain", "nodes"}, .rows = {}};
  for (const Function& function : model.functions) {
    section.rows.push_back(
        {shown(function.name), domain_name(function.domain), fmt::format("{}", function.nodes.size())});
  }
  return section;
}

InspectSection metadata_section(const FileModel& model) {
  InspectSection section{.title = "metadata", .columns = {"key", "value"}, .rows = {}};
  for (const auto& [key, value] : model.metadata) section.rows.push_back({shown(key), shown(value)});
  return section;
}

}  // namespace

std::vector<InspectSection> inspect(const FileModel& model) {
  std::vector<InspectSection> sections = {model_section(model),
                                          opset_section(model),
                                          values_section("inputs", model.graph.inputs, model.graph),
                                          values_section("outputs", model.graph.outputs, model.graph),
                                          weights_section(model),
                                          operators_section(model),
                                          external_section(model),
                                          functions_section(model),
                                          metadata_section(model)};
  std::erase_if(sections, [](const InspectSection& section) { return section.rows.empty(); });
  return sections;
}

}  // namespace ullage::onnx
