// Builders: facts → Report. One function a question; each lives in build_<name>.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/importers/importer.h"
#include "ullage/report/report.h"
#include "ullage/sim/estimate.h"

namespace ullage {

// What will it take, for what, does it fit, and what to change first.
Report build_estimate(const Estimate& estimate, std::string_view command_line);

enum class SummaryForm : uint8_t { flat, modules };
struct SummaryOptions {
  SummaryForm form = SummaryForm::flat;
  int depth = 2;   // modules: how many levels of the path
  size_t top = 0;  // rows with the largest share of the peak; 0: all, in order
};
// The per-layer table, and the textbook sum of feature maps next to what PyTorch keeps.
Report build_summary(const Estimate& estimate, const SummaryOptions& options);

// Where a number comes from: a category, a counter, a layer, a module or an op. Fails with the nearest names.
Result<Report> build_explain(const Estimate& estimate, std::string_view name);

Report build_inspect(const Model& model);

// Two answers side by side; `growth` is the relative change of the device peak.
struct DiffReport {
  Report report;
  double growth = 0;
};
DiffReport build_diff(const Estimate& before, const Estimate& after);

// "devices", "formats", "ops", "rules", "optimizers", "options", "assumptions".
Result<Report> build_list(std::string_view what);

// The sum of feature maps as textbooks count it: input, each convolution, pooling and linear output once.
struct FeatureMaps {
  int64_t values = 0;
  Bytes bytes;
};
FeatureMaps textbook_feature_maps(const Graph& graph);

}  // namespace ullage
