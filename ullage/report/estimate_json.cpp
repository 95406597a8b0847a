#include "ullage/report/estimate_json.h"

#include <nlohmann/json.hpp>

#include "ullage/base/version.h"

namespace ullage {
namespace {

using Json = nlohmann::ordered_json;

std::string_view severity_name(Severity severity) {
  constexpr std::string_view kNames[] = {"info", "notice", "warning", "error"};
  return kNames[static_cast<size_t>(severity)];
}

// Values as JSON would have them: whole numbers as numbers, everything else as the text that a flag takes.
Json recipe_json(const Recipe& recipe) {
  Json out = Json::object();
  for (const auto& [key, value] : options_of(recipe)) {
    const bool number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos && value.size() < 19;
    const Json item = number ? Json(std::stoll(value)) : Json(value);
    if (key == "input") {
      out["input"].push_back(item);
    } else {
      out[key] = item;
    }
  }
  return out;
}

Json counters_json(const CounterValues& values) {
  return {{"requested", values.requested.value},
          {"allocated", values.allocated.value},
          {"active", values.active.value},
          {"reserved", values.reserved.value}};
}

Json marks_json(const Timeline& timeline) {
  Json out = Json::array();
  for (const TimelineMark& mark : timeline.marks()) {
    Json row = {{"name", mark.name}, {"step", mark.step}};
    row.update(counters_json(mark.values));
    row["requested_peak"] = mark.peaks.requested.value;
    row["allocated_peak"] = mark.peaks.allocated.value;
    row["reserved_peak"] = mark.peaks.reserved.value;
    out.push_back(std::move(row));
  }
  return out;
}

Json layers_json(const Estimate& e) {
  Json out = Json::array();
  for (const LayerRow& layer : e.layers) {
    out.push_back({{"name", layer.name},
                   {"module", layer.module},
                   {"op", layer.op},
                   {"output_shape", std::vector<int64_t>(layer.output_shape.begin(), layer.output_shape.end())},
                   {"parameters", layer.parameters},
                   {"flops", layer.flops.forward},
                   {"backward_flops", layer.flops.backward},
                   {"output_bytes", layer.output_bytes.value},
                   {"saved_bytes", layer.saved_bytes.value},
                   {"workspace_bytes", layer.workspace_bytes.value},
                   {"at_peak", layer.at_peak.value}});
  }
  return out;
}

}  // namespace

std::string estimate_json(const Estimate& e) {
  Json out;
  out["schema"] = 1;
  out["tool"] = {{"name", "ullage"}, {"version", kVersion}};
  out["model"] = {{"name", e.model.name},
                  {"format", e.model.format},
                  {"parameters", e.model.parameters},
                  {"trainable", e.model.trainable},
                  {"parameter_bytes", e.model.parameter_bytes.value},
                  {"buffer_bytes", e.model.buffer_bytes.value},
                  {"loss", e.model.loss}};
  out["recipe"] = recipe_json(e.recipe);
  out["device"] = {{"name", e.device.id}, {"capacity", e.device.usable.value}};
  out["peak"] = {
      {"requested", e.peak.requested.value},
      {"allocated", e.peak.allocated.value},
      {"active", e.peak.active.value},
      {"reserved", e.peak.reserved.value},
      {"device", e.peak.device.value},
      {"at",
       {{"step", e.peak.step}, {"phase", phase_name(e.peak.phase)}, {"op", e.peak.op}, {"counter", "allocated"}}}};
  out["marks"] = marks_json(e.run.timeline);
  out["breakdown"] = Json::array();
  for (const CategoryRow& row : e.breakdown) {
    out["breakdown"].push_back({{"category", category_name(row.category)}, {"bytes", row.bytes.value}});
  }
  out["bounds"] = {{"low", e.bounds.low.value}, {"high", e.bounds.high.value}, {"why", e.bounds.why}};
  out["fits"] = e.fits;
  out["flops"] = {{"forward", e.flops.forward}, {"backward", e.flops.backward}, {"recompute", e.flops.recompute}};
  if (e.law) {
    out["law"] = {{"counter", "requested"},
                  {"model", e.law->model.value},
                  {"per_sample", e.law->per_sample.value},
                  {"from_batch", e.law->from},
                  {"checked_to_batch", e.law->to}};
  }
  out["levers"] = Json::array();
  for (const Lever& lever : e.levers) {
    out["levers"].push_back({{"change", lever.change},
                             {"what", lever.what},
                             {"peak_device", lever.peak_device.value},
                             {"saves", lever.saves.value}});
  }
  out["layers"] = layers_json(e);
  out["diagnostics"] = Json::array();
  for (const Diagnostic& d : e.notes.rows()) {
    out["diagnostics"].push_back({{"kind", d.kind},
                                  {"severity", severity_name(d.severity)},
                                  {"count", d.count},
                                  {"meaning", d.meaning},
                                  {"first", d.first}});
  }
  out["assumptions"] = e.assumptions;
  // Names come from files: bytes that are not UTF-8 must not end the program.
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ullage
