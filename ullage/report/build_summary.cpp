#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ullage/ir/op_table.h"
#include "ullage/report/build.h"

namespace ullage {
namespace {

struct SummaryRow {
  std::string name, op, shape;
  LayerRow sums;
};

void add(LayerRow& into, const LayerRow& row) {
  into.parameters += row.parameters;
  into.flops.forward = saturating_add(into.flops.forward, row.flops.forward);
  into.flops.backward = saturating_add(into.flops.backward, row.flops.backward);
  into.output_bytes += row.output_bytes;
  into.saved_bytes += row.saved_bytes;
  into.workspace_bytes = std::max(into.workspace_bytes, row.workspace_bytes);
  into.at_peak += row.at_peak;
}

// "layer1.0.conv1" at depth 2: "layer1.0".
std::string prefix(const std::string& path, int depth) {
  size_t end = 0;
  for (int level = 0; level < depth; ++level) {
    const size_t dot = path.find('.', end);
    if (dot == path.npos) return path;
    if (level + 1 == depth) return path.substr(0, dot);
    end = dot + 1;
  }
  return path;
}

std::vector<SummaryRow> rows_of(const Estimate& e, const SummaryOptions& options) {
  std::vector<SummaryRow> rows;
  for (const LayerRow& layer : e.layers) {
    if (options.form == SummaryForm::flat) {
      rows.push_back({layer.name, layer.op, layer.output_shape.to_string(), layer});
      continue;
    }
    const std::string name = layer.module.empty() ? "(model)" : prefix(layer.module, options.depth);
    // Repeated visits of one module come together, in order of the first.
    auto found = std::ranges::find(rows, name, &SummaryRow::name);
    if (found == rows.end()) found = rows.insert(rows.end(), {name, {}, {}, LayerRow{}});
    found->shape = layer.output_shape.to_string();
    add(found->sums, layer);
  }
  return rows;
}

std::vector<Cell> cells_of(const SummaryRow& row, double peak) {
  return {cell(row.name),
          cell(row.op),
          cell(row.shape),
          count_cell(row.sums.parameters),
          scaled_cell(row.sums.flops.forward / 2),
          scaled_cell(row.sums.flops.forward),
          cell(row.sums.output_bytes),
          cell(row.sums.saved_bytes),
          cell(row.sums.at_peak),
          percent_cell(static_cast<double>(row.sums.at_peak.value) / peak)};
}

}  // namespace

FeatureMaps textbook_feature_maps(const Graph& graph) {
  FeatureMaps maps;
  const auto count = [&](ValueId id) {
    if (!id) return;
    maps.values = saturating_add(maps.values, graph.values[id].shape.numel());
    maps.bytes += graph.values[id].bytes();
  };
  for (const ValueId id : graph.inputs) {
    if (is_floating(graph.values[id].dtype)) count(id);
  }
  for (const Node& node : graph.nodes) {
    const OpRow* row = find_op(node.op);
    if (!row || node.outputs.empty()) continue;
    // Global pooling that changes nothing (VGG's adaptive pool at 224) adds no map.
    const bool same =
        row->family == OpFamily::pooling && graph.values[node.inputs[0]].shape == graph.values[node.outputs[0]].shape;
    if (row->family == OpFamily::convolution || (row->family == OpFamily::pooling && !same) || row->name == "linear")
      count(node.outputs[0]);
  }
  return maps;
}

Report build_summary(const Estimate& e, const SummaryOptions& options) {
  Report report{.title = fmt::format("{} · {} parameters · {} MACs forward", e.model.name,
                                     format_count(e.model.parameters), format_scaled(e.flops.forward / 2)),
                .blocks = {}};
  Table table{.key = "layers",
              .columns = {{"layer", true},
                          {"op", true},
                          {"output", true},
                          {"parameters"},
                          {"MACs", false, 1},
                          {"FLOPs", false, 4},
                          {"output bytes", false, 3},
                          {"kept"},
                          {"at peak"},
                          {"share", false, 2}},
              .rows = {},
              .total = true};
  std::vector<SummaryRow> rows = rows_of(e, options);
  SummaryRow total{"total", {}, {}, {}};
  for (const SummaryRow& row : rows) add(total.sums, row.sums);
  const double peak = static_cast<double>(std::max<int64_t>(e.peak.allocated.value, 1));
  if (options.top > 0 && options.top < rows.size()) {
    std::ranges::stable_sort(rows, std::greater{}, [](const SummaryRow& row) { return row.sums.at_peak; });
    SummaryRow others{fmt::format("[{} others]", rows.size() - options.top), {}, {}, {}};
    for (size_t i = options.top; i < rows.size(); ++i) add(others.sums, rows[i].sums);
    rows.resize(options.top);
    rows.push_back(std::move(others));
  }
  Bytes unowned = e.peak.allocated;
  for (const SummaryRow& row : rows) {
    unowned -= row.sums.at_peak;
    table.rows.push_back(cells_of(row, peak));
  }
  // Inputs, optimizer scalars and the like belong to no layer; the column still adds up to the allocated peak.
  SummaryRow rest{"(no layer)", {}, {}, {}};
  rest.sums.at_peak = unowned;
  if (unowned.value != 0) table.rows.push_back(cells_of(rest, peak));
  total.sums.at_peak = e.peak.allocated;
  table.rows.push_back(cells_of(total, peak));
  report.blocks.emplace_back(std::move(table));
  const FeatureMaps maps = textbook_feature_maps(e.graph);
  const int64_t batch = std::max<int64_t>(e.model.batch, 1);
  report.blocks.emplace_back(Notes{
      .title = {},
      .lines = {
          fmt::format(
              "feature maps the textbook way (input, each convolution, pooling and linear output once): {} values, {} "
              "a sample",
              format_count(maps.values / batch), format_bytes(Bytes(maps.bytes.value / batch))),
          fmt::format("what PyTorch keeps for backward: {} a sample. It differs because activations out of place are "
                      "kept as well, pooling "
                      "keeps int64 indices, norms keep statistics, and what backward does not need is not kept",
                      format_bytes(Bytes(total.sums.saved_bytes.value / batch))),
          "kept: bytes first kept by this layer's autograd node; at peak: alive on its behalf at the allocated peak, "
          "gradients and "
          "optimizer state included; a multiply-add is 2 FLOPs"}});
  return report;
}

}  // namespace ullage
