#include "ullage/importers/onnx/lower/rewrite.h"

#include <algorithm>

namespace ullage::onnx {

std::vector<int> read_counts(const Draft& draft) {
  std::vector<int> reads(draft.values.size() + 1, 0);
  for (const DraftNode& step : draft.nodes) {
    if (step.dropped) continue;
    for (const DraftId input : step.inputs) ++reads[input.index];
  }
  for (const DraftId output : draft.outputs) ++reads[output.index];
  return reads;
}

void drop_dead_steps(Draft& draft) {
  std::vector<bool> needed(draft.values.size() + 1, false);
  for (const DraftId output : draft.outputs) needed[output.index] = true;
  for (size_t s = draft.nodes.size(); s > 0; --s) {
    DraftNode& step = draft.nodes[StepId{static_cast<uint32_t>(s)}];
    if (step.dropped) continue;
    if (std::ranges::none_of(step.outputs, [&](DraftId id) { return needed[id.index]; })) {
      step.dropped = true;
      continue;
    }
    for (const DraftId input : step.inputs) needed[input.index] = true;
  }
}

}  // namespace ullage::onnx
