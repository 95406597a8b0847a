#include "ullage/importers/onnx/sort_nodes.h"

#include <algorithm>

#include <fmt/format.h>
#include <tsl/robin_map.h>

namespace ullage::onnx {
namespace {

using Producers = tsl::robin_map<std::string_view, uint32_t>;

// Calls visit(name) for each tensor that the node reads, also from inside its subgraphs (which see the names around
// them).
template <class Visit>
void for_each_read(const Node& node, Visit&& visit) {
  for (const std::string_view input : node.inputs) visit(input);
  for (const Attribute& attribute : node.attributes) {
    for (const FileGraph& graph : attribute.graphs) {
      for (const Node& inner : graph.nodes) for_each_read(inner, visit);
      for (const ValueInfo& output : graph.outputs) visit(output.name);
    }
  }
}

Result<Producers> producers_of(const std::vector<Node>& nodes) {
  Producers producers;
  producers.reserve(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (output.empty() || producers.try_emplace(output, i).second) continue;
      const Node& first = nodes[producers.find(output)->second];
      return fail(
          ErrorCode::format, fmt::format("makes '{}', which {} makes already", output.substr(0, 96), first.place()),
          nodes[i].place(), "each tensor of an ONNX graph is made once; the file is damaged or was edited by hand");
    }
  }
  return producers;
}

bool in_order(const std::vector<Node>& nodes, const Producers& producers) {
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    bool good = true;
    for_each_read(nodes[i], [&](std::string_view name) {
      const auto producer = producers.find(name);
      if (producer != producers.end() && producer->second >= i) good = false;
    });
    if (!good) return false;
  }
  return true;
}

// Kahn's algorithm; among the nodes that are ready the first of the file goes first.
Status order(std::vector<Node>& nodes, const Producers& producers) {
  std::vector<std::vector<uint32_t>> readers(nodes.size());
  std::vector<uint32_t> waits_for(nodes.size(), 0);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for_each_read(nodes[i], [&](std::string_view name) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) return;
      readers[producer->second].push_back(i);
      ++waits_for[i];
    });
  }
  std::vector<uint32_t> ready;  // a heap, the first of the file on top
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (waits_for[i] == 0) ready.push_back(i);
  std::ranges::make_heap(ready, std::greater<>());
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  while (!ready.empty()) {
    std::ranges::pop_heap(ready, std::greater<>());
    const uint32_t next = ready.back();
    ready.pop_back();
    for (const uint32_t reader : readers[next]) {
      if (--waits_for[reader] != 0) continue;
      ready.push_back(reader);
      std::ranges::push_heap(ready, std::greater<>());
    }
    sorted.push_back(std::move(nodes[next]));
  }
  if (sorted.size() != nodes.size()) {
    const auto stuck = std::ranges::find_if(waits_for, [](uint32_t count) { return count != 0; });
    return fail(ErrorCode::format, "is part of a cycle, or depends on one: it needs what is only made after it",
                nodes[static_cast<size_t>(stuck - waits_for.begin())].place(),
                "a model's nodes cannot wait for each other");
  }
  nodes = std::move(sorted);
  return {};
}

}  // namespace

Status sort_nodes(FileGraph& graph) {
  UL_TRY(const Producers producers, producers_of(graph.nodes));
  if (!in_order(graph.nodes, producers)) UL_TRY_STATUS(order(graph.nodes, producers));
  for (Node& node : graph.nodes)
    for (Attribute& attribute : node.attributes)
      for (FileGraph& inner : attribute.graphs) UL_TRY_STATUS(sort_nodes(inner));
  return {};
}

}  // namespace ullage::onnx
