#include "ullage/ir/passes/append_loss.h"

#include <fmt/format.h>

namespace ullage {
namespace {

// Adds nodes at the end of a graph that is already valid.
class Tail {
 public:
  explicit Tail(GraphWithLoss& out) : out_(out), graph_(out.graph) {}

  ValueId target(std::string name, DType dtype, Shape shape) {
    const ValueId id = graph_.values.push({std::move(name), dtype, ValueKind::input, shape, {}});
    graph_.inputs.push_back(id);
    out_.targets.push_back(id);
    return id;
  }
  ValueId node(std::string_view op, std::vector<ValueId> inputs, Shape shape, std::vector<Attr> attrs = {}) {
    const DType dtype = graph_.values[inputs[0]].dtype;
    const ValueId result =
        graph_.values.push({fmt::format("loss.{}", graph_.nodes.size()), dtype, ValueKind::activation, shape, {}});
    Node node{op, "loss", graph_.modules.first(), std::move(inputs), {result}, std::move(attrs)};
    graph_.values[result].producer = graph_.nodes.push(std::move(node));
    return result;
  }
  const Shape& shape(ValueId id) const { return graph_.values[id].shape; }

 private:
  GraphWithLoss& out_;
  Graph& graph_;
};

// [N,C], [N,C,H,W] and deeper: class scores over dim 1; [N,S,V]: scores of the next token over the last dim.
bool looks_like_scores(const Shape& shape) {
  if (shape.rank() < 2) return false;
  return shape.rank() == 3 ? shape[2] > 1 : shape[1] > 1;
}

ValueId cross_entropy(Tail& tail, ValueId scores, std::string name) {
  Shape shape = tail.shape(scores);
  if (shape.rank() == 3) {
    const Shape flat{shape[0] * shape[1], shape[2]};
    const ValueId rows = tail.node("reshape", {scores}, flat, {{"shape", std::vector<int64_t>{flat[0], flat[1]}}});
    return tail.node("cross_entropy_loss", {rows, tail.target(std::move(name), DType::i64, {flat[0]})}, {});
  }
  shape.erase(1);
  return tail.node("cross_entropy_loss", {scores, tail.target(std::move(name), DType::i64, shape)}, {});
}

}  // namespace

Result<GraphWithLoss> append_loss(Graph graph, LossRule rule) {
  GraphWithLoss out;
  out.graph = std::move(graph);
  std::vector<ValueId> outputs;
  for (const ValueId id : out.graph.outputs) {
    const Value& value = out.graph.values[id];
    if (is_floating(value.dtype) && value.kind == ValueKind::activation) outputs.push_back(id);
  }
  if (outputs.empty()) {
    return fail(ErrorCode::unsupported, "the model has no floating-point output that a loss could be put on", "outputs",
                "use --mode infer");
  }
  Tail tail(out);
  const Shape first = tail.shape(outputs[0]);
  bool alike = true;
  for (const ValueId id : outputs) alike = alike && tail.shape(id) == first;
  if (rule == LossRule::automatic) {
    rule = alike && looks_like_scores(first) ? LossRule::cross_entropy : LossRule::sum;
  }
  if (rule == LossRule::output) {
    out.loss = outputs[0];
    if (tail.shape(out.loss).numel() != 1) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--loss output needs a scalar first output; this one is {}", first.to_string()),
                  "outputs", "use --loss sum, mse or cross_entropy");
    }
    out.what = "the model's first output";
  } else {
    if (rule == LossRule::cross_entropy && !looks_like_scores(first)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("cross_entropy needs class scores [N, C, …]; the first output is {}", first.to_string()),
                  "outputs", "use --loss sum or mse");
    }
    int heads = 0;
    for (const ValueId id : outputs) {
      if (rule != LossRule::sum && tail.shape(id) != first) continue;
      const std::string name = heads == 0 ? "target" : fmt::format("target.{}", heads);
      // Auxiliary heads learn from the same targets as the main one.
      ValueId term;
      if (rule == LossRule::sum) {
        term = tail.node("sum", {id}, {});
      } else if (rule == LossRule::mse) {
        term = tail.node("mse_loss",
                         {id, heads == 0 ? tail.target(name, out.graph.values[id].dtype, first) : out.targets[0]}, {});
      } else if (heads == 0 || first.rank() == 3) {
        term = cross_entropy(tail, id, name);
      } else {
        term = tail.node("cross_entropy_loss", {id, out.targets[0]}, {});
      }
      if (heads > 0 && rule != LossRule::sum) term = tail.node("mul", {term}, {}, {{"other", 0.5}});
      out.loss = heads == 0 ? term : tail.node("add", {out.loss, term}, {});
      ++heads;
    }
    const std::string_view names[] = {"", "cross_entropy", "mse", "sum", ""};
    out.what = fmt::format("{} of {}{}", names[static_cast<size_t>(rule)], out.graph.values[outputs[0]].name,
                           heads > 1 ? fmt::format(" and {} more outputs", heads - 1) : "");
  }
  out.graph.outputs.insert(out.graph.outputs.begin(), out.loss);
  return out;
}

}  // namespace ullage
