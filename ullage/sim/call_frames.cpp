#include "ullage/sim/call_frames.h"

#include <algorithm>

namespace ullage {
namespace {

// A call of a module: the consecutive nodes [first, last] that ran inside it. Two calls of one module with nothing
// between them look like one.
struct Call {
  ModuleId module;
  NodeId first;
  NodeId last;
};

// The modules around a node, outermost first, without the root, whose arguments are the user's.
std::vector<ModuleId> path_to(const Graph& graph, ModuleId module) {
  std::vector<ModuleId> path;
  for (; module && graph.modules[module].parent; module = graph.modules[module].parent) path.push_back(module);
  std::ranges::reverse(path);
  return path;
}

// Follows the nodes in order and keeps the calls that are open.
class OpenCalls {
 public:
  explicit OpenCalls(std::vector<Call>& calls) : calls_(calls) {}

  // Indices into `calls` of those around node `id`, outermost first.
  const std::vector<size_t>& at(NodeId id, const std::vector<ModuleId>& path) {
    size_t same = 0;
    while (same < open_.size() && same < path.size() && calls_[open_[same]].module == path[same]) ++same;
    open_.resize(same);
    for (; same < path.size(); ++same) {
      open_.push_back(calls_.size());
      calls_.push_back({path[same], id, id});
    }
    for (const size_t call : open_) calls_[call].last = id;
    return open_;
  }

 private:
  std::vector<Call>& calls_;
  std::vector<size_t> open_;
};

}  // namespace

std::vector<NodeId> held_until(const Graph& graph) {
  std::vector<NodeId> held(graph.values.size() + 1);
  std::vector<Call> calls;
  std::vector<std::pair<ValueId, size_t>> arguments;  // value and the outermost call that got it
  OpenCalls open(calls);
  for (NodeId id = graph.nodes.first(); id.index <= graph.nodes.size(); ++id.index) {
    const Node& node = graph.nodes[id];
    for (const ValueId value : node.outputs) held[value.index] = id;
    for (const size_t call : open.at(id, path_to(graph, node.module))) {
      for (const ValueId value : node.inputs) {
        if (value && graph.values[value].producer < calls[call].first) arguments.emplace_back(value, call);
      }
    }
    for (const ValueId value : node.inputs) held[value.index] = id;
  }
  for (const auto& [value, call] : arguments) held[value.index] = std::max(held[value.index], calls[call].last);
  return held;
}

}  // namespace ullage
