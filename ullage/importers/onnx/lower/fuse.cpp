#include <algorithm>
#include <cmath>
#include <optional>

#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/rewrite.h"

namespace ullage::onnx {
namespace {

class Fuse {
 public:
  explicit Fuse(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft()), reads_(read_counts(draft_)) {}

  void run() {
    for (uint32_t s = 1; s <= draft_.nodes.size(); ++s) {
      if (draft_.nodes[StepId{s}].dropped) continue;
      if (draft_.nodes[StepId{s}].op == "add") linear_bias(StepId{s});
    }
  }

 private:
  DraftNode* producer(DraftId id) {
    if (!id || draft_.values[id].home != Home::made) return nullptr;
    DraftNode& step = draft_.nodes[draft_.values[id].producer];
    return step.dropped ? nullptr : &step;
  }

  // linear(x, w) + b with a stored vector b.
  void linear_bias(StepId at) {
    DraftNode& add = draft_.nodes[at];
    if (add.inputs.size() != 2 || !add.attrs.empty()) return;
    if (!add.aten.empty() && !add.aten.starts_with("aten.linear")) return;
    for (size_t side = 0; side < 2; ++side) {
      DraftNode* linear = producer(add.inputs[side]);
      const DraftId bias = add.inputs[1 - side];
      if (!linear || linear->op != "linear" || linear->inputs.size() != 2 || reads_[add.inputs[side].index] != 1) continue;
      DraftValue& b = draft_.values[bias];
      const Sizes& y = draft_.values[add.inputs[side]].sizes;
      if (b.home != Home::stored || b.sizes.rank() != 1 || b.sizes[0] != y[-1]) continue;
      b.use = Use::weight;
      add.op = "linear";
      add.inputs = {linear->inputs[0], linear->inputs[1], bias};
      linear->dropped = true;
      return;
    }
  }

  Lowering& lowering_;
  Draft& draft_;
  std::vector<int> reads_;
};

}  // namespace

void fuse(Lowering& lowering) { Fuse(lowering).run(); }

}  // namespace ullage::onnx
