#include <algorithm>

#include <fmt/format.h>

#include "ullage/report/build.h"

namespace ullage {
namespace {

Bytes bytes_in(const Estimate& e, Category category) {
  const auto row = std::ranges::find(e.breakdown, category, &CategoryRow::category);
  return row == e.breakdown.end() ? Bytes(0) : row->bytes;
}

std::vector<Cell> row_of(std::string name, Bytes before, Bytes after) {
  std::string change = before == after ? "=" : before.value == 0 ? "new" : after.value == 0 ? "gone" : std::string();
  if (change.empty()) {
    change = fmt::format("{:+.1f} %",
                         100.0 * static_cast<double>((after - before).value) / static_cast<double>(before.value));
  }
  return {cell(std::move(name)), cell(before), cell(after), delta_cell(after - before), cell(std::move(change))};
}

}  // namespace

DiffReport build_diff(const Estimate& before, const Estimate& after) {
  DiffReport out;
  out.report.title =
      before.model.name == after.model.name ? before.model.name : before.model.name + " → " + after.model.name;
  std::vector<std::string> changed;
  const auto old_options = options_of(before.recipe);
  for (const auto& [key, value] : options_of(after.recipe)) {
    const auto old = std::ranges::find_if(old_options, [&](const auto& o) { return o.first == key; });
    const std::string was = old == old_options.end() ? "(default)" : old->second;
    if (was != value) changed.push_back(fmt::format("{}: {} → {}", key, was, value));
  }
  Table parts{.key = "breakdown",
              .columns = {{"category"}, {"before"}, {"after"}, {"change"}, {"relative"}},
              .rows = {},
              .total = true};
  for (size_t i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    const Bytes was = bytes_in(before, category);
    const Bytes is = bytes_in(after, category);
    if (was.value != 0 || is.value != 0) parts.rows.push_back(row_of(std::string(category_name(category)), was, is));
  }
  std::ranges::stable_sort(parts.rows, std::greater{}, [](const auto& row) { return std::abs(row[3].amount); });
  parts.rows.push_back(row_of("device peak", before.peak.device, after.peak.device));
  Table counters{.key = "counters", .columns = parts.columns, .rows = {}};
  counters.rows.push_back(row_of("requested peak", before.peak.requested, after.peak.requested));
  counters.rows.push_back(row_of("allocated peak", before.peak.allocated, after.peak.allocated));
  counters.rows.push_back(row_of("reserved peak", before.peak.reserved, after.peak.reserved));
  out.report.blocks.emplace_back(std::move(parts));
  out.report.blocks.emplace_back(std::move(counters));
  if (!changed.empty()) out.report.blocks.emplace_back(Notes{"What changed", std::move(changed)});
  const double base = static_cast<double>(std::max<int64_t>(before.peak.device.value, 1));
  out.growth = static_cast<double>((after.peak.device - before.peak.device).value) / base;
  return out;
}

}  // namespace ullage
