#include "ullage/sim/estimate.h"

#include <algorithm>

#include <fmt/format.h>

#include "ullage/eager/rules.h"
#include "ullage/sim/optimizer.h"

namespace ullage {
namespace {

Bytes context_of(const Device& device, Leaning leaning) {
  return leaning == Leaning::low    ? device.context.low
         : leaning == Leaning::high ? device.context.high
                                    : device.context.middle();
}

ModelFacts model_facts(const PreparedGraph& prepared, const Recipe& recipe) {
  const Graph& graph = prepared.graph;
  ModelFacts facts;
  facts.name = graph.name;
  facts.format = graph.format;
  facts.batch = graph.batch;
  facts.loss = prepared.loss;
  const DType dtype = parameter_dtype(recipe.precision);
  const auto bytes_as_run = [&](const Value& value) {
    return bytes_of(is_floating(value.dtype) && dtype != DType::f32 ? dtype : value.dtype, value.shape.numel());
  };
  facts.parameters = graph.parameter_count();
  for (const ValueId id : graph.parameters) {
    const Value& value = graph.values[id];
    facts.parameter_bytes += bytes_as_run(value);
    if (is_differentiable(value.dtype)) facts.trainable += value.shape.numel();
  }
  for (const ValueId id : graph.buffers) facts.buffer_bytes += bytes_as_run(graph.values[id]);
  return facts;
}

std::string node_name(const Graph& graph, uint32_t node) {
  if (node == 0) return {};
  const Node& n = graph.nodes[NodeId{node}];
  const std::string& module = n.module ? graph.modules[n.module].name : std::string();
  return module.empty() ? (n.name.empty() ? std::string(n.op) : n.name) : module;
}

PeakFacts peak_facts(const Simulation& run, const Graph& graph, Bytes context) {
  PeakFacts peak;
  peak.requested = run.peak(Counter::requested);
  peak.active = run.peak(Counter::active);
  peak.reserved = run.peak(Counter::reserved);
  peak.device = peak.reserved + context;
  const PeakPoint top = run.timeline.peak(Counter::allocated);
  peak.allocated = top.value;
  if (run.timeline.event_count() == 0) return peak;
  if (const BlockId id = run.timeline.block_of(top.event)) {
    const BlockLabel& label = run.timeline.block(id).label;
    peak.step = label.step;
    peak.phase = label.phase;
    peak.node = label.node;
    peak.op = node_name(graph, label.node);
  }
  return peak;
}

std::string note_of(Category category, const Estimate& e, uint32_t blocks) {
  switch (category) {
    case Category::parameters:
      return fmt::format("{:.4g} M {}", static_cast<double>(e.model.parameters) / 1e6,
                         name_of(parameter_dtype(e.recipe.precision)));
    case Category::activations:
      return fmt::format("{} tensors kept for backward", blocks);
    case Category::optimizer:
      return e.recipe.optimizer;
    case Category::allocator_slack:
      return "reserved, but free or between blocks, when reserved is highest";
    case Category::context:
      return "driver and loaded kernels, assumed";
    case Category::workspace:
      return "cuDNN and cuBLAS scratch, modelled";
    default:
      return blocks ? fmt::format("{} blocks", blocks) : std::string();
  }
}

// Alive at the allocated peak, plus what lies outside: adds up to peak.device.
std::vector<CategoryRow> breakdown(const Estimate& e, Bytes context) {
  const PeakPoint top = e.run.timeline.peak(Counter::allocated);
  CategoryBytes parts{};
  std::array<uint32_t, kCategoryCount> blocks{};
  if (e.run.timeline.event_count() > 0) {
    parts = e.run.timeline.by_category(top.event, Counter::allocated);
    for (const OwnerBytes& owner : e.run.timeline.by_owner(top.event, Counter::allocated)) {
      blocks[static_cast<size_t>(owner.category)] += owner.blocks;
    }
  }
  parts[static_cast<size_t>(Category::allocator_slack)] += e.peak.reserved - e.peak.allocated;
  parts[static_cast<size_t>(Category::context)] += context;
  std::vector<CategoryRow> rows;
  for (size_t i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (parts[i].value != 0) rows.push_back({category, parts[i], note_of(category, e, blocks[i])});
  }
  std::ranges::stable_sort(rows, std::greater{}, &CategoryRow::bytes);
  return rows;
}

std::vector<LayerRow> layers_of(const Estimate& e) {
  const Graph& graph = e.graph;
  std::vector<LayerRow> rows(graph.nodes.size());
  for (uint32_t n = 1; n <= graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[NodeId{n}];
    LayerRow& row = rows[n - 1];
    row.node = n;
    row.name = node_name(graph, n);
    row.module = node.module ? graph.modules[node.module].name : std::string();
    row.op = node.op;
    if (!node.outputs.empty() && node.outputs[0]) row.output_shape = graph.values[node.outputs[0]].shape;
    const eager::NodeStats& stats = e.run.nodes[n];
    row.flops = {stats.forward_flops, stats.backward_flops, stats.recompute_flops};
    row.output_bytes = stats.output;
    row.saved_bytes = stats.saved;
    row.workspace_bytes = stats.workspace;
  }
  std::vector<bool> counted(graph.values.size() + 1, false);
  for (uint32_t n = 1; n <= graph.nodes.size(); ++n) {
    for (const ValueId value : graph.nodes[NodeId{n}].inputs) {
      if (!value || counted[value.index] || graph.values[value].kind != ValueKind::parameter) continue;
      counted[value.index] = true;
      rows[n - 1].parameters += graph.values[value].shape.numel();
    }
  }
  if (e.run.timeline.event_count() > 0) {
    const PeakPoint top = e.run.timeline.peak(Counter::allocated);
    for (const OwnerBytes& owner : e.run.timeline.by_owner(top.event, Counter::allocated)) {
      if (owner.node > 0) rows[owner.node - 1].at_peak += owner.bytes;
    }
  }
  return rows;
}

// One more simulation of the same source under a changed recipe.
Result<Simulation> again(const GraphSource& source, const Recipe& recipe, const Device& device,
                         Leaning leaning = Leaning::expected) {
  Diagnostics ignored;
  UL_TRY(Graph graph, source(recipe, ignored));
  UL_TRY(const PreparedGraph prepared, prepare(std::move(graph), recipe));
  return simulate(prepared.graph, recipe, device, leaning);
}

Bytes requested_at(const GraphSource& source, Recipe recipe, const Device& device, int64_t batch, bool& known) {
  recipe.batch = batch;
  recipe.steps = std::min<int64_t>(recipe.steps, 2);
  const Result<Simulation> run = again(source, recipe, device);
  known = known && run.has_value();
  return run ? run->peak(Counter::requested) : Bytes(0);
}

// The line through batch b and 2b, and the smallest batch at which it still gives the simulated peak.
std::optional<BatchLaw> law_of(const Estimate& e, const GraphSource& source) {
  if (e.model.batch < 1) return std::nullopt;
  bool known = true;
  const int64_t b = e.model.batch;
  const Bytes here = requested_at(source, e.recipe, e.device, b, known);
  const Bytes twice = requested_at(source, e.recipe, e.device, 2 * b, known);
  if (!known || (twice - here).value % b != 0) return std::nullopt;
  BatchLaw law;
  law.per_sample = Bytes((twice - here).value / b);
  law.model = here - law.per_sample * b;
  law.to = 2 * b;
  const auto holds = [&](int64_t batch) {
    return requested_at(source, e.recipe, e.device, batch, known) == law.model + law.per_sample * batch && known;
  };
  int64_t bad = 0;
  int64_t good = b;
  while (good - bad > 1) {
    const int64_t middle = bad == 0 ? 1 : bad + (good - bad) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  law.from = good;
  return law;
}

struct LeverIdea {
  std::string_view change;
  std::string_view what;
  std::string_view key;
  std::string_view value;
};

// What people try first; each is simulated, none is promised.
constexpr LeverIdea kIdeas[] = {
    {"--precision amp-bf16", "mixed precision (bf16)", "precision", "amp-bf16"},
    {"--precision bf16", "everything in bf16", "precision", "bf16"},
    {"--checkpoint sqrt", "recompute activations, sqrt(N) segments", "checkpoint", "sqrt"},
    {"--optimizer sgd", "an optimizer without state", "optimizer", "sgd"},
    {"--optimizer adam8bit", "8-bit optimizer state", "optimizer", "adam8bit"},
    {"--inplace on", "in-place activations", "inplace", "on"},
};

std::vector<Lever> levers_of(const Estimate& e, const GraphSource& source) {
  std::vector<Lever> out;
  const auto attempt = [&](std::string change, std::string what, Recipe recipe) {
    recipe.steps = std::min<int64_t>(recipe.steps, 2);
    const Result<Simulation> run = again(source, recipe, e.device);
    if (!run) return;
    const Bytes device = run->peak(Counter::reserved) + context_of(e.device, Leaning::expected);
    if (device < e.peak.device) out.push_back({std::move(change), std::move(what), device, e.peak.device - device});
  };
  if (e.model.batch > 1) {
    Recipe half = e.recipe;
    half.batch = e.model.batch / 2;
    attempt(fmt::format("--batch {}", *half.batch), "half the batch", half);
    half.accumulate = e.recipe.accumulate * 2;
    if (e.recipe.mode == Mode::train) {
      attempt(fmt::format("--batch {} --accumulate {}", *half.batch, half.accumulate), "the same batch in two halves",
              half);
    }
  }
  for (const ValueId id : e.graph.inputs) {
    const Value& input = e.graph.values[id];
    if (input.shape.rank() != 4 || input.shape[2] < 64 || input.shape[2] % 2 || input.shape[3] % 2) continue;
    Recipe smaller = e.recipe;
    Shape shape = input.shape;
    shape.set(2, shape[2] / 2);
    shape.set(3, shape[3] / 2);
    smaller.inputs = {{input.name, shape, std::nullopt}};
    attempt(fmt::format("--input {}", shape.to_string()), "half the image side", smaller);
    break;
  }
  for (const LeverIdea& idea : kIdeas) {
    const bool needs_training = idea.key == "checkpoint" || idea.key == "optimizer" || idea.key == "precision";
    if (needs_training && e.recipe.mode != Mode::train) continue;
    Recipe recipe = e.recipe;
    if (!set_option(recipe, idea.key, idea.value) || options_of(recipe) == options_of(e.recipe)) continue;
    if (idea.key == "optimizer" && find_optimizer(e.recipe.optimizer)->states == 0) continue;
    attempt(std::string(idea.change), std::string(idea.what), recipe);
  }
  std::ranges::stable_sort(out, std::greater{}, &Lever::saves);
  return out;
}

Result<Bounds> bounds_of(const Estimate& e, const PreparedGraph& prepared) {
  UL_TRY(const Simulation low, simulate(prepared.graph, e.recipe, e.device, Leaning::low));
  UL_TRY(const Simulation high, simulate(prepared.graph, e.recipe, e.device, Leaning::high));
  Bounds bounds;
  bounds.low = std::min(low.peak(Counter::reserved), e.peak.reserved) + context_of(e.device, Leaning::low);
  bounds.high = std::max(high.peak(Counter::reserved), e.peak.reserved) + context_of(e.device, Leaning::high);
  if (low.peak(Counter::reserved) != high.peak(Counter::reserved))
    bounds.why.push_back("convolution workspaces are modelled");
  if (e.device.context.low != e.device.context.high)
    bounds.why.push_back("context and loaded kernels vary with driver and libraries");
  const int64_t unknown = e.notes.count("unknown_op");
  if (unknown > 0) {
    Bytes share;
    for (const LayerRow& layer : e.layers) {
      if (!eager::find_rule(layer.op)) share += layer.output_bytes + layer.saved_bytes;
    }
    bounds.high += share;
    bounds.why.push_back(fmt::format("{} ops have no rule", unknown));
  }
  return bounds;
}

}  // namespace

Result<Estimate> estimate(const GraphSource& source, const Recipe& recipe, EstimateOptions options) {
  Estimate e;
  e.recipe = recipe;
  UL_TRY(e.device, device_of(recipe));
  UL_TRY(Graph graph, source(recipe, e.notes));
  UL_TRY(PreparedGraph prepared, prepare(std::move(graph), recipe));
  UL_TRY(e.run, simulate(prepared.graph, recipe, e.device));
  e.notes.merge(e.run.notes);
  e.model = model_facts(prepared, recipe);
  e.recipe.batch = e.model.batch > 0 ? std::optional(e.model.batch) : recipe.batch;
  const Bytes context = context_of(e.device, Leaning::expected);
  e.peak = peak_facts(e.run, prepared.graph, context);
  e.graph = prepared.graph;
  e.layers = layers_of(e);
  for (const LayerRow& layer : e.layers) {
    e.flops.forward += layer.flops.forward;
    e.flops.backward += layer.flops.backward;
    e.flops.recompute += layer.flops.recompute;
  }
  e.breakdown = breakdown(e, context);
  e.fits = e.peak.device <= e.device.usable;
  if (options.bounds) {
    UL_TRY(e.bounds, bounds_of(e, prepared));
  }
  if (options.law) e.law = law_of(e, source);
  if (options.levers) e.levers = levers_of(e, source);
  e.assumptions = e.graph.assumptions;
  return e;
}

}  // namespace ullage
