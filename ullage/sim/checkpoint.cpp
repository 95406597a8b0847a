#include "ullage/sim/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace ullage {
namespace {

bool is_head(const Graph& graph, const Node& node) {
  if (node.op == "flatten" || node.op.starts_with("adaptive_avg_pool")) return true;
  if (node.op != "mean") return false;
  const Value& input = graph.values[node.inputs[0]];
  return input.shape.rank() >= 4;
}

bool is_number(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view path_of(const Graph& graph, NodeId id) {
  const ModuleId module = graph.nodes[id].module;
  return module ? std::string_view(graph.modules[module].name) : std::string_view{};
}

// A numbered block ("layer1.0") is one function of its sequence, though a single tensor may cross inside it (before the
// last ReLU of a ResNet block): true when both nodes are in one whose parts have names. Parts with numbers are a
// sequence.
bool inside_a_block(const Graph& graph, NodeId one, NodeId next) {
  const std::string_view a = path_of(graph, one);
  const std::string_view b = path_of(graph, next);
  bool block = false;
  for (size_t at = 0; at < a.size() && at < b.size();) {
    const size_t end = std::min(a.find('.', at), a.size());
    const std::string_view name = a.substr(at, end - at);
    if (std::min(b.find('.', at), b.size()) != end || b.substr(at, end - at) != name) {
      return block && !is_number(name);
    }
    block = is_number(name);
    at = end + 1;
  }
  return block;
}

// The sequence's functions, each as the range of its nodes.
std::vector<NodeRange> functions_of(const Graph& graph) {
  std::vector<uint32_t> last_use(graph.values.size() + 1, 0);
  const auto count = static_cast<uint32_t>(graph.nodes.size());
  for (uint32_t n = 1; n <= count; ++n) {
    for (const ValueId value : graph.nodes[NodeId{n}].inputs) last_use[value.index] = n;
  }
  std::vector<NodeRange> functions;
  uint32_t start = 1;
  int64_t crossing = 0;  // activations made by now that a later node reads
  std::vector<uint32_t> ends(count + 2, 0);
  for (uint32_t n = 1; n <= count; ++n) {
    if (is_head(graph, graph.nodes[NodeId{n}])) break;
    for (const ValueId value : graph.nodes[NodeId{n}].outputs) {
      if (value && last_use[value.index] > n) {
        ++crossing;
        ++ends[last_use[value.index]];
      }
    }
    crossing -= ends[n];
    if (crossing == 1 && (n == count || !inside_a_block(graph, NodeId{n}, NodeId{n + 1}))) {
      functions.push_back({NodeId{start}, NodeId{n}});
      start = n + 1;
    }
  }
  return functions;
}

// Modules that repeat under one numbered list ("layers.0", "layers.1", …): the blocks people checkpoint.
std::vector<NodeRange> blocks_of(const Graph& graph) {
  std::vector<NodeRange> blocks;
  const auto block_of = [&](const Node& node) -> std::string_view {
    const std::string_view path = node.module ? std::string_view(graph.modules[node.module].name) : std::string_view{};
    for (size_t at = path.find('.'); at != path.npos; at = path.find('.', at + 1)) {
      const size_t end = std::min(path.find('.', at + 1), path.size());
      const std::string_view piece = path.substr(at + 1, end - at - 1);
      if (is_number(piece) && end < path.size()) return path.substr(0, end);
    }
    return {};
  };
  std::string_view current;
  for (uint32_t n = 1; n <= graph.nodes.size(); ++n) {
    const std::string_view block = block_of(graph.nodes[NodeId{n}]);
    if (!block.empty() && block == current) {
      blocks.back().last = NodeId{n};
    } else if (!block.empty()) {
      blocks.push_back({NodeId{n}, NodeId{n}});
    }
    current = block;
  }
  return blocks;
}

std::vector<NodeRange> attention_of(const Graph& graph) {
  std::vector<NodeRange> out;
  for (uint32_t n = 1; n <= graph.nodes.size(); ++n) {
    const std::string_view op = graph.nodes[NodeId{n}].op;
    if (op == "scaled_dot_product_attention") out.push_back({NodeId{n}, NodeId{n}});
  }
  return out;
}

}  // namespace

std::vector<NodeRange> checkpoint_regions(const Graph& graph, const Recipe& recipe) {
  if (recipe.mode != Mode::train || recipe.checkpoint == CheckpointKind::none) return {};
  if (recipe.checkpoint == CheckpointKind::blocks) return blocks_of(graph);
  if (recipe.checkpoint == CheckpointKind::attention) return attention_of(graph);
  const std::vector<NodeRange> functions = functions_of(graph);
  const auto count = static_cast<int64_t>(functions.size());
  const bool by_count = recipe.checkpoint == CheckpointKind::segments;
  const int64_t wanted = by_count ? recipe.checkpoint_segments : std::llround(std::sqrt(static_cast<double>(count)));
  const int64_t segments = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(count, 1));
  const int64_t length = count / segments;
  std::vector<NodeRange> regions;
  for (int64_t s = 0; s + 1 < segments; ++s) {
    const auto first = static_cast<size_t>(s * length);
    regions.push_back({functions[first].first, functions[first + static_cast<size_t>(length) - 1].last});
  }
  return regions;
}

}  // namespace ullage
