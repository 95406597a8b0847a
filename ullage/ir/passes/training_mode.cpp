#include "ullage/ir/passes/training_mode.h"

#include <algorithm>

namespace ullage {
namespace {

// The attribute that says "train" in each op that has one; empty for the others.
std::string_view mode_attr(std::string_view op) {
  if (op == "batch_norm") return "training";
  if (op.starts_with("dropout") || op.starts_with("feature_dropout") || op == "lstm" || op == "gru" || op == "rnn")
    return "train";
  return {};
}

}  // namespace

Graph set_training(Graph graph, bool training) {
  for (Node& node : graph.nodes) {
    const std::string_view key = mode_attr(node.op);
    if (key.empty()) continue;
    const auto attr = std::ranges::find(node.attrs, key, &Attr::key);
    if (attr != node.attrs.end()) {
      attr->value = int64_t{training};
    } else {
      node.attrs.push_back({key, int64_t{training}});
    }
  }
  return graph;
}

}  // namespace ullage
