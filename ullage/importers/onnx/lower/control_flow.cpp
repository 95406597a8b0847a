// If, Loop, Scan: subgraphs become part of the one graph. What is decided at run time is replaced by the worst or a
// stated assumption.

#include <algorithm>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {
namespace {

constexpr int64_t kMaxTrips = 1024;  // of a loop that is unrolled

// Bytes that the steps and stored tensors since `first_value` take: what decides between branches.
Bytes bytes_since(const Draft& draft, size_t first_value, size_t last_value) {
  Bytes sum;
  for (size_t v = first_value + 1; v <= last_value; ++v) {
    const DraftValue& value = draft.values[DraftId{static_cast<uint32_t>(v)}];
    if (value.home == Home::made || value.home == Home::stored) sum += bytes_of(value.dtype, value.sizes.numel().now);
  }
  return sum;
}

// Takes back what a branch added: its steps, and its stored tensors unless something else reads them.
void drop_since(Draft& draft, size_t first_step, size_t last_step, size_t first_value, size_t last_value) {
  for (size_t s = first_step + 1; s <= last_step; ++s) draft.nodes[StepId{static_cast<uint32_t>(s)}].dropped = true;
  for (size_t v = first_value + 1; v <= last_value; ++v)
    draft.values[DraftId{static_cast<uint32_t>(v)}].from_constant = true;
}

Status branch(Call& c) {
  const FileGraph* then_graph = c.node().graph("then_branch");
  const FileGraph* else_graph = c.node().graph("else_branch");
  if (!then_graph || !else_graph) return c.error("a branch is missing");
  if (const auto condition = c.number(0)) {
    UL_TRY(const auto outputs, c.lowering().subgraph(*condition != 0 ? *then_graph : *else_graph, {}));
    for (size_t k = 0; k < outputs.size(); ++k) c.set(k, outputs[k]);
    return {};
  }
  Draft& draft = c.lowering().draft();
  const size_t step0 = draft.nodes.size();
  const size_t value0 = draft.values.size();
  UL_TRY(const auto then_outputs, c.lowering().subgraph(*then_graph, {}));
  const size_t step1 = draft.nodes.size();
  const size_t value1 = draft.values.size();
  UL_TRY(const auto else_outputs, c.lowering().subgraph(*else_graph, {}));
  const bool then_is_worse = bytes_since(draft, value0, value1) >= bytes_since(draft, value1, draft.values.size());
  if (then_is_worse) {
    drop_since(draft, step1, draft.nodes.size(), value1, draft.values.size());
  } else {
    drop_since(draft, step0, step1, value0, value1);
  }
  c.note("control_flow_worst_branch", then_is_worse ? "then" : "else");
  const auto& outputs = then_is_worse ? then_outputs : else_outputs;
  for (size_t k = 0; k < outputs.size(); ++k) c.set(k, outputs[k]);
  return {};
}

// The results of all trips, one after the other in a new first dim.
DraftId stacked(Call& c, const std::vector<DraftId>& trips, int64_t dim = 0) {
  Sizes sizes = c.value(trips[0]).sizes;
  if (sizes.rank() >= kMaxRank || dim > sizes.rank()) return trips[0];
  sizes.insert(static_cast<int>(dim), static_cast<int64_t>(trips.size()));
  const DType dtype = c.value(trips[0]).dtype;
  return c.step("stack", trips, dtype, sizes, {{"dim", dim}});
}

DraftId nothing(Call& c, size_t k) {
  const auto made = c.declared(k);
  Sizes sizes = made ? made->sizes : Sizes{Size(0)};
  if (sizes.rank() > 0) sizes[0] = 0;
  return c.step("full", {}, made ? made->dtype : DType::f32, sizes);
}

Status loop(Call& c) {  // inputs: trip count, condition, carried…; the body takes iteration, condition, carried…
  const FileGraph* body = c.node().graph("body");
  if (!body) return c.error("the body is missing");
  const size_t carried = c.input_count() > 2 ? c.input_count() - 2 : 0;
  if (body->inputs.size() != carried + 2 || body->outputs.size() < carried + 1)
    return c.error("the body does not fit the loop");
  int64_t trips = 1;
  bool assumed = true;
  if (c.number(0)) {
    trips = static_cast<int64_t>(std::clamp(*c.number(0), 0.0, 1e18));
    assumed = trips > kMaxTrips;
    trips = assumed ? 1 : trips;
  }
  if (const auto go_on = c.number(1); c.has(1) && go_on && *go_on == 0) trips = 0;
  std::vector<DraftId> state(c.inputs().begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(2, c.input_count())),
                             c.inputs().end());
  std::vector<std::vector<DraftId>> scans(body->outputs.size() - 1 - carried);
  DraftId condition = c.has(1) ? c.id(1) : c.host(DType::boolean, {}, content_of(std::vector<Size>{1}));
  for (int64_t i = 0; i < trips; ++i) {
    std::vector<DraftId> bound{c.host(DType::i64, {}, content_of(std::vector<Size>{i})), condition};
    bound.insert(bound.end(), state.begin(), state.end());
    UL_TRY(const auto outputs, c.lowering().subgraph(*body, bound));
    condition = outputs[0];
    state.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (size_t k = 0; k < scans.size(); ++k) scans[k].push_back(outputs[1 + carried + k]);
    if (const auto go_on = c.number(condition); go_on && *go_on == 0) {
      assumed = false;
      break;
    }
    if (!c.number(condition) && !c.has(0)) assumed = true;  // a while loop
  }
  if (assumed) c.note("loop_trip_count_assumed");
  for (size_t k = 0; k < carried; ++k) c.set(k, state[k]);
  for (size_t k = 0; k < scans.size(); ++k) {
    if (c.wants(carried + k)) c.set(carried + k, scans[k].empty() ? nothing(c, carried + k) : stacked(c, scans[k]));
  }
  return {};
}

Status scan(Call& c) {  // inputs: state…, sequences…; the body sees one slice of each sequence
  const FileGraph* body = c.node().graph("body");
  const int64_t sequences = c.attr("num_scan_inputs", 0);
  const size_t skipped =
      c.opset() < 9 ? 1 : 0;  // opset 8: sequence lengths first, and a batch dim before the scanned one
  if (!body || sequences < 1 || c.input_count() < static_cast<size_t>(sequences) + skipped)
    return c.error("the body does not fit");
  if (skipped) return c.unsupported("Scan of opset 8", "convert the model to opset 9 or newer");
  const size_t states = c.input_count() - static_cast<size_t>(sequences);
  if (body->inputs.size() != c.input_count() || body->outputs.size() < states) return c.error("the body does not fit");
  const auto axes = c.ints("scan_input_axes");
  int64_t trips = 0;
  std::vector<int> along;
  for (size_t i = 0; i < static_cast<size_t>(sequences); ++i) {
    if (!c.has(states + i) || c.rank(states + i) < 1) return c.error("a scanned input without dims");
    UL_TRY(const int axis, c.axis(i < axes.size() ? axes[i] : 0, c.rank(states + i)));
    along.push_back(axis);
    trips = c.sizes(states + i)[axis].now;
  }
  const bool assumed = trips > kMaxTrips;
  if (assumed) {
    c.note("loop_trip_count_assumed");
    trips = 1;
  }
  std::vector<DraftId> state(c.inputs().begin(), c.inputs().begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<DraftId>> scans(body->outputs.size() - states);
  for (int64_t t = 0; t < trips; ++t) {
    std::vector<DraftId> bound = state;
    for (size_t i = 0; i < static_cast<size_t>(sequences); ++i) {
      Sizes sizes = c.sizes(states + i);
      sizes.erase(along[i]);
      bound.push_back(
          c.step("select", {c.id(states + i)}, c.dtype(states + i), sizes, {{"dim", int64_t{along[i]}}, {"index", t}}));
    }
    UL_TRY(const auto outputs, c.lowering().subgraph(*body, bound));
    state.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(states));
    for (size_t k = 0; k < scans.size(); ++k) scans[k].push_back(outputs[states + k]);
  }
  const auto out_axes = c.ints("scan_output_axes");
  for (size_t k = 0; k < states; ++k) c.set(k, state[k]);
  for (size_t k = 0; k < scans.size(); ++k) {
    if (!c.wants(states + k)) continue;
    int64_t axis = k < out_axes.size() ? out_axes[k] : 0;
    if (!scans[k].empty() && axis < 0) axis += c.value(scans[k][0]).sizes.rank() + 1;
    c.set(states + k, scans[k].empty() ? nothing(c, states + k) : stacked(c, scans[k], std::max<int64_t>(axis, 0)));
  }
  return {};
}

constexpr OpRule kRules[] = {{"", "If", 1, branch}, {"", "Loop", 1, loop}, {"", "Scan", 8, scan}};

}  // namespace

std::span<const OpRule> control_flow_rules() { return kRules; }

}  // namespace ullage::onnx
