#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ullage/base/suggest.h"
#include "ullage/eager/rules.h"
#include "ullage/report/build.h"

namespace ullage {
namespace {

std::string_view meaning_of(Counter counter) {
  switch (counter) {
    case Counter::requested:
      return "bytes the program asked for: the sum of tensor sizes alive";
    case Counter::allocated:
      return "the same after the allocator's rounding (512 B; a large block is not split for less than 1 MiB): what "
             "torch.cuda.max_memory_allocated() shows";
    case Counter::active:
      return "allocated, plus blocks freed but still waited for by a stream";
    case Counter::reserved:
      return "segments the allocator took from the driver (2 MiB, 20 MiB, or rounded to 2 MiB above 10 MiB) and keeps: "
             "torch.cuda.max_memory_reserved()";
  }
  return {};
}

std::string layer_name(const Estimate& e, uint32_t node) {
  return node == 0 ? "(no layer)" : fmt::format("{} {}", e.layers[node - 1].name, e.layers[node - 1].op);
}

// Blocks alive at the allocated peak that `chosen` takes, merged by owner, size and category; largest first.
template <class Chosen>
Table blocks_at_peak(const Estimate& e, Chosen chosen) {
  Table table{.key = "blocks",
              .title = "Alive at the allocated peak",
              .columns = {{"layer", true}, {"category"}, {"phase"}, {"requested"}, {"blocks"}, {"allocated"}},
              .rows = {},
              .total = true};
  if (e.run.timeline.event_count() == 0) return table;
  struct Sum {
    int64_t count = 0;
    Bytes allocated;
  };
  std::map<std::tuple<uint32_t, Category, Phase, int64_t>, Sum> sums;
  Bytes total;
  int64_t count = 0;
  const PeakPoint top = e.run.timeline.peak(Counter::allocated);
  for (const BlockId id : e.run.timeline.alive_at(top.event, Counter::allocated)) {
    const TimelineBlock& block = e.run.timeline.block(id);
    if (!chosen(block.label)) continue;
    Sum& sum = sums[{block.label.node, block.label.category, block.label.phase, block.requested.value}];
    ++sum.count;
    sum.allocated += block.allocated;
    total += block.allocated;
    ++count;
  }
  std::vector<std::pair<std::tuple<uint32_t, Category, Phase, int64_t>, Sum>> ordered(sums.begin(), sums.end());
  std::ranges::stable_sort(ordered, std::greater{}, [](const auto& item) { return item.second.allocated; });
  for (const auto& [key, sum] : ordered) {
    const auto& [node, category, phase, requested] = key;
    table.rows.push_back({cell(layer_name(e, node)), cell(std::string(category_name(category))),
                          cell(std::string(phase_name(phase))), cell(Bytes(requested)), count_cell(sum.count),
                          cell(sum.allocated)});
  }
  table.rows.push_back({cell("total"), cell(""), cell(""), cell(""), count_cell(count), cell(total)});
  return table;
}

std::string_view meaning_of(Category category) {
  switch (category) {
    case Category::parameters:
      return "weights and biases that train";
    case Category::buffers:
      return "resident tensors that do not train: running statistics, masks, tables, each batch norm's counter";
    case Category::gradients:
      return "one tensor like each parameter, from its backward until zero_grad";
    case Category::optimizer:
      return "state of the optimizer and of the gradient scaler";
    case Category::activations:
      return "results that some autograd node keeps for backward (docs: what each op keeps: ullage list rules)";
    case Category::temporaries:
      return "results on their way to the next op, gradients of activations, scratch of ops";
    case Category::inputs:
      return "the batch and its targets, held by the loop";
    case Category::workspace:
      return "scratch of cuDNN and cuBLAS while a call runs: modelled (ullage list assumptions)";
    case Category::allocator_slack:
      return "reserved peak minus allocated peak: free blocks kept by the allocator and space between blocks";
    case Category::context:
      return "what the process takes outside the allocator: CUDA context and loaded kernels, an assumed range per card";
    default:
      return "everything else";
  }
}

Report explain_layers(const Estimate& e, std::string_view name, const std::vector<uint32_t>& nodes) {
  Report report{.title = std::string(name), .blocks = {}};
  Table table{.key = "layers",
              .columns = {{"layer", true},
                          {"op", true},
                          {"output", true},
                          {"output bytes"},
                          {"kept"},
                          {"FLOPs", false, 1},
                          {"parameters", false, 2}}};
  std::vector<std::string> sources;
  for (const uint32_t n : nodes) {
    const LayerRow& row = e.layers[n - 1];
    table.rows.push_back({cell(row.name), cell(row.op), cell(row.output_shape.to_string()), cell(row.output_bytes),
                          cell(row.saved_bytes), scaled_cell(row.flops.forward), count_cell(row.parameters)});
    const eager::RuleRow* rule = eager::find_rule(row.op);
    std::string text =
        fmt::format("{}: {}", row.op, rule ? std::string(rule->source) : "no rule; outputs and inputs are counted");
    if (std::ranges::find(sources, text) == sources.end()) sources.push_back(std::move(text));
  }
  report.blocks.emplace_back(std::move(table));
  report.blocks.emplace_back(
      blocks_at_peak(e, [&](const BlockLabel& label) { return std::ranges::find(nodes, label.node) != nodes.end(); }));
  report.blocks.emplace_back(Notes{"Rules and their sources", std::move(sources)});
  return report;
}

}  // namespace

Result<Report> build_explain(const Estimate& e, std::string_view name) {
  if (const auto category = find_category(name)) {
    Report report{.title = std::string(name), .blocks = {}};
    Bytes bytes;
    for (const CategoryRow& row : e.breakdown) {
      if (row.category == *category) bytes = row.bytes;
    }
    report.blocks.emplace_back(Notes{{}, {fmt::format("{}: {}", format_bytes(bytes), meaning_of(*category))}});
    report.blocks.emplace_back(blocks_at_peak(e, [&](const BlockLabel& label) { return label.category == *category; }));
    return report;
  }
  for (size_t i = 0; i < kCounterCount; ++i) {
    if (kCounterNames[i] != name) continue;
    const auto counter = static_cast<Counter>(i);
    Report report{.title = std::string(name), .blocks = {}};
    report.blocks.emplace_back(Notes{{}, {std::string(meaning_of(counter))}});
    Table marks{.key = "marks",
                .title = "At each mark",
                .columns = {{"mark"}, {"step"}, {"now"}, {"peak since the mark before"}}};
    for (const TimelineMark& mark : e.run.timeline.marks()) {
      marks.rows.push_back(
          {cell(mark.name), count_cell(mark.step), cell(mark.values.at(counter)), cell(mark.peaks.at(counter))});
    }
    report.blocks.emplace_back(std::move(marks));
    return report;
  }
  std::vector<uint32_t> nodes;
  std::vector<std::string> names;
  for (const LayerRow& row : e.layers) {
    const bool inside = row.module == name || (row.module.size() > name.size() && row.module.starts_with(name) &&
                                               row.module[name.size()] == '.');
    const std::string_view file_name = e.graph.nodes[NodeId{row.node}].name;
    if (row.name == name || row.op == name || inside || file_name == name) nodes.push_back(row.node);
    names.push_back(row.name);
  }
  for (uint32_t n = 1; nodes.empty() && n <= e.graph.nodes.size(); ++n) {
    // A tensor by name: the ops that make or read it.
    const Node& node = e.graph.nodes[NodeId{n}];
    const auto called = [&](ValueId id) { return id && e.graph.values[id].name == name; };
    if (std::ranges::any_of(node.inputs, called) || std::ranges::any_of(node.outputs, called)) nodes.push_back(n);
  }
  if (!nodes.empty()) return explain_layers(e, name, nodes);
  const std::string near = closest(name, names);
  return fail(ErrorCode::invalid_argument, fmt::format("nothing here is called \"{}\"", name), "NAME",
              near.empty()
                  ? "a category (activations), a counter (reserved), a module, an op or a tensor; see ullage summary"
                  : fmt::format("did you mean {}?", near));
}

}  // namespace ullage
