#include <algorithm>

#include <fmt/format.h>

#include "ullage/report/build.h"

namespace ullage {
namespace {

std::string option_text(const Recipe& recipe, std::string_view key) {
  for (const auto& [name, value] : options_of(recipe)) {
    if (name == key) return value;
  }
  return {};
}

std::string title_of(const Estimate& e) {
  const Recipe& r = e.recipe;
  const std::string_view what = r.mode == Mode::train     ? "training step"
                                : r.mode == Mode::forward ? "forward, autograd on"
                                                          : "inference";
  std::string title = fmt::format("{} · {}", e.model.name, what);
  if (r.batch) title += fmt::format(" · batch {}", *r.batch);
  if (r.seq) title += fmt::format(" × {}", *r.seq);
  if (r.accumulate > 1) title += fmt::format(" × {} micro-batches", r.accumulate);
  title += " · " + option_text(r, "precision");
  if (r.mode == Mode::train) title += " · " + r.optimizer;
  if (r.checkpoint != CheckpointKind::none) title += " · checkpoint " + option_text(r, "checkpoint");
  if (!e.device.id.empty()) title += " · " + e.device.id;
  return title;
}

Verdict verdict_of(const Estimate& e) {
  Verdict v{
      .label = "PEAK", .amount = e.peak.device, .limit = Bytes(0), .counter = "device", .verdict = {}, .good = e.fits};
  const bool limited = e.device.usable < kUnlimited;
  if (limited) {
    v.limit = e.device.usable;
    const Bytes room = e.device.usable - e.peak.device;
    if (e.fits && e.bounds.high > e.device.usable) {
      v.verdict =
          fmt::format("tight: {} left, but up to {} is possible", format_bytes(room), format_bytes(e.bounds.high));
    } else {
      v.verdict = e.fits ? fmt::format("fits, {} left", format_bytes(room))
                         : fmt::format("does not fit, {} over", format_bytes(Bytes(-room.value)));
    }
  } else {
    v.verdict = "of the device; name a card with --device to know if it fits";
  }
  const std::string at = e.peak.op.empty() ? std::string() : " of " + e.peak.op;
  v.lines.push_back(fmt::format("at step {}, {}{}", e.peak.step, phase_name(e.peak.phase), at));
  v.lines.push_back(fmt::format("requested {} · allocated {} · reserved {}", format_bytes(e.peak.requested),
                                format_bytes(e.peak.allocated), format_bytes(e.peak.reserved)));
  if (e.bounds.high.value > 0 && e.bounds.low != e.bounds.high) {
    v.lines.push_back(fmt::format("likely {} to {}: {}", format_bytes(e.bounds.low), format_bytes(e.bounds.high),
                                  fmt::join(e.bounds.why, "; ")));
  }
  return v;
}

Table breakdown_of(const Estimate& e) {
  Table table{.key = "breakdown",
              .columns = {{"category"}, {"bytes"}, {"share"}, {"bar"}, {"note", true}},
              .header = false,
              .total = true};
  const double total = static_cast<double>(std::max<int64_t>(e.peak.device.value, 1));
  const double largest =
      e.breakdown.empty() ? 1 : static_cast<double>(std::max<int64_t>(e.breakdown[0].bytes.value, 1));
  for (const CategoryRow& row : e.breakdown) {
    const auto bytes = static_cast<double>(row.bytes.value);
    table.rows.push_back({cell(std::string(category_name(row.category))), cell(row.bytes), percent_cell(bytes / total),
                          bar_cell(bytes / largest), cell(row.note)});
  }
  table.rows.push_back(
      {cell("total"), cell(e.peak.device), percent_cell(1), bar_cell(0), cell("device, at the allocated peak")});
  return table;
}

std::string law_text(const Estimate& e) {
  const BatchLaw& law = *e.law;
  const std::string range =
      law.from > 1 ? fmt::format("from batch {} on; below, the peak is elsewhere", law.from) : "for every batch";
  return fmt::format("requested peak = {} + batch × {}, {} (checked to {})", format_bytes(law.model),
                     format_bytes(law.per_sample), range, law.to);
}

Table levers_of(const Estimate& e) {
  Table table{.key = "levers",
              .title = "What to change first (each simulated)",
              .columns = {{"what", true}, {"saves"}, {"peak"}, {"flags", true}},
              .header = false};
  for (const Lever& lever : e.levers) {
    table.rows.push_back(
        {cell(lever.what), delta_cell(Bytes(-lever.saves.value)), cell(lever.peak_device), cell(lever.change)});
  }
  return table;
}

Notes notes_of(const Estimate& e) {
  Notes notes{.title = "Assumed", .lines = {}};
  if (!e.model.loss.empty()) notes.lines.push_back("loss: " + e.model.loss);
  if (e.recipe.accumulate > 1) {
    notes.lines.push_back(fmt::format("batch norm sees {} samples at a time, not {}", e.recipe.batch.value_or(1),
                                      e.recipe.batch.value_or(1) * e.recipe.accumulate));
  }
  if (autocast_dtype(e.recipe.precision)) {
    notes.lines.push_back(
        "autocast halves activations of matmuls and convolutions; weights, gradients and optimizer state stay float32, "
        "and half copies of the weights come on top");
  }
  for (const std::string& text : e.assumptions) notes.lines.push_back(text);
  for (const Diagnostic& d : e.notes.rows()) {
    notes.lines.push_back(fmt::format("{} × {}: {}{}", d.count, d.kind, d.meaning,
                                      d.first.empty() ? "" : fmt::format(" (first: {})", d.first)));
  }
  return notes;
}

}  // namespace

Report build_estimate(const Estimate& e, std::string_view model_argument) {
  Report report{.title = title_of(e), .blocks = {}};
  report.blocks.emplace_back(verdict_of(e));
  report.blocks.emplace_back(breakdown_of(e));
  if (e.law) report.blocks.emplace_back(Notes{.title = {}, .lines = {law_text(e)}});
  if (!e.levers.empty()) report.blocks.emplace_back(levers_of(e));
  if (Notes notes = notes_of(e); !notes.lines.empty()) report.blocks.emplace_back(std::move(notes));
  report.blocks.emplace_back(
      Notes{.title = {},
            .lines = {fmt::format(
                "layers: ullage summary {0} · a row: ullage explain {0} activations · machine-readable: --json",
                model_argument)}});
  return report;
}

}  // namespace ullage
