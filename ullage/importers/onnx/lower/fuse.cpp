#include <algorithm>
#include <cmath>
#include <optional>

#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/module_path.h"
#include "ullage/importers/onnx/lower/rewrite.h"

namespace ullage::onnx {
namespace {

class Fuse {
 public:
  explicit Fuse(Lowering& lowering) : draft_(lowering.draft()), reads_(read_counts(draft_)) {}

  void run() {
    for (uint32_t s = 1; s <= draft_.nodes.size(); ++s) {
      if (draft_.nodes[StepId{s}].dropped) continue;
      const DraftNode& step = draft_.nodes[StepId{s}];
      if (step.op == "mul") noise_dtype(step);
      if (step.op == "full" && step.aten.starts_with("aten.new_")) new_dtype(StepId{s});
      if (step.op == "add") {
        linear_bias(StepId{s});
      } else if (step.op == "mul" && step.aten.empty()) {
        if (!gated(StepId{s})) error_gelu(StepId{s});
      } else if (step.op == "div" && step.aten.empty()) {
        layer_norm(StepId{s});
      }
    }
  }

 private:
  DraftNode* producer(DraftId id) {
    if (!id || draft_.values[id].home != Home::made) return nullptr;
    DraftNode& step = draft_.nodes[draft_.values[id].producer];
    return step.dropped ? nullptr : &step;
  }

  // x * bernoulli_(empty(…, dtype=x.dtype)): the noise of stochastic depth is made for x. The file has the dtype that x
  // had when it was exported; under another precision the noise follows x.
  void noise_dtype(const DraftNode& mul) {
    for (size_t side = 0; side < 2 && mul.inputs.size() == 2; ++side) {
      const DraftId x = mul.inputs[1 - side];
      DraftNode* made = producer(mul.inputs[side]);
      bool random = false;
      while (made && made->op != "full" && made->inputs.size() == 1) {
        random = random || made->op.starts_with("bernoulli");
        made = producer(made->inputs[0]);
      }
      if (!random || !made || made->op != "full" || !made->inputs.empty() || !x) continue;
      const DraftValue& noise = draft_.values[made->outputs[0]];
      const DraftValue& like = draft_.values[x];
      if (noise.dtype == like.dtype && like.home == Home::made && like.producer < noise.producer) made->inputs = {x};
    }
  }

  // x.new_zeros(…) in a module: the file does not say what x was, but a tensor of the argument's dtype is what it
  // makes.
  void new_dtype(StepId at) {
    DraftNode& full = draft_.nodes[at];
    if (!full.inputs.empty()) return;
    const DType dtype = draft_.values[full.outputs[0]].dtype;
    const auto path = [](const DraftNode& step) { return step.source ? module_path(*step.source) : std::string(); };
    const std::string module = path(full);
    for (uint32_t s = at.index - 1; s > 0; --s) {
      const DraftNode& before = draft_.nodes[StepId{s}];
      if (before.dropped) continue;
      if (path(before) != module) return;
      for (const DraftId id : before.inputs) {
        if (!id || draft_.values[id].home != Home::made || draft_.values[id].dtype != dtype) continue;
        if (path(draft_.nodes[draft_.values[id].producer]) != module) {
          full.inputs = {id};
          return;
        }
      }
    }
  }

  // linear(x, w) + b with a stored vector b.
  void linear_bias(StepId at) {
    DraftNode& add = draft_.nodes[at];
    if (add.inputs.size() != 2 || !add.attrs.empty()) return;
    if (!add.aten.empty() && !add.aten.starts_with("aten.linear")) return;
    for (size_t side = 0; side < 2; ++side) {
      DraftNode* linear = producer(add.inputs[side]);
      const DraftId bias = add.inputs[1 - side];
      if (!linear || linear->op != "linear" || linear->inputs.size() != 2 || reads_[add.inputs[side].index] != 1)
        continue;
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

  bool is_number(const DraftNode& step, double wanted) const {
    for (const Attr& attr : step.attrs) {
      if (attr.key != "other" && attr.key != "exponent") continue;
      const double x = std::holds_alternative<double>(attr.value) ? std::get<double>(attr.value)
                       : std::holds_alternative<int64_t>(attr.value)
                           ? static_cast<double>(std::get<int64_t>(attr.value))
                           : NAN;
      return std::abs(x - wanted) < 1e-4 * std::max(1.0, std::abs(wanted));
    }
    return false;
  }
  bool read_once(DraftId id) const { return reads_[id.index] == 1; }

  // x · sigmoid(x) is silu, x · hardsigmoid(x) is hardswish.
  bool gated(StepId at) {
    DraftNode& mul = draft_.nodes[at];
    if (mul.inputs.size() != 2) return false;
    for (size_t side = 0; side < 2; ++side) {
      DraftNode* gate = producer(mul.inputs[side]);
      const DraftId x = mul.inputs[1 - side];
      if (!gate || (gate->op != "sigmoid" && gate->op != "hardsigmoid") || gate->inputs[0] != x ||
          !read_once(mul.inputs[side]))
        continue;
      mul.op = gate->op == "sigmoid" ? "silu" : "hardswish";
      mul.inputs = {x};
      gate->dropped = true;
      return true;
    }
    return false;
  }

  // x · (1 + erf(x / √2)) · 0.5, the 0.5 at the end or at x.
  void error_gelu(StepId at) {
    DraftNode& last = draft_.nodes[at];
    std::vector<DraftNode*> parts;
    DraftId half_of;  // the value that stands beside (1 + erf) in the product
    DraftNode* product = &last;
    const bool half_last = last.inputs.size() == 1 && is_number(last, 0.5);
    if (half_last) {
      product = producer(last.inputs[0]);
      if (!product || product->op != "mul" || !read_once(last.inputs[0])) return;
      parts.push_back(product);
    }
    if (product->inputs.size() != 2) return;
    for (size_t side = 0; side < 2; ++side) {
      DraftNode* plus = producer(product->inputs[side]);
      if (!plus || plus->op != "add" || plus->inputs.size() != 1 || !is_number(*plus, 1) ||
          !read_once(product->inputs[side]))
        continue;
      DraftNode* erf = producer(plus->inputs[0]);
      if (!erf || erf->op != "erf" || !read_once(plus->inputs[0])) continue;
      DraftNode* scaled = producer(erf->inputs[0]);
      if (!scaled || scaled->inputs.size() != 1 || !read_once(erf->inputs[0])) continue;
      const bool by_root = (scaled->op == "div" && is_number(*scaled, std::sqrt(2.0))) ||
                           (scaled->op == "mul" && is_number(*scaled, std::sqrt(0.5)));
      if (!by_root) continue;
      half_of = product->inputs[1 - side];
      const DraftId x = scaled->inputs[0];
      parts.insert(parts.end(), {plus, erf, scaled});
      if (!half_last) {
        DraftNode* half = producer(half_of);
        if (!half || half->op != "mul" || half->inputs.size() != 1 || !is_number(*half, 0.5) || half->inputs[0] != x ||
            !read_once(half_of))
          return;
        parts.push_back(half);
      } else if (half_of != x) {
        return;
      }
      for (DraftNode* part : parts) part->dropped = true;
      last.dropped = false;
      last.op = "gelu";
      last.inputs = {x};
      last.attrs = {{"approximate", "none"}};
      return;
    }
  }

  // (x − mean) / sqrt(mean((x − mean)²) + eps), then · weight + bias.
  void layer_norm(StepId at) {
    DraftNode& divide = draft_.nodes[at];
    if (divide.inputs.size() != 2) return;
    DraftNode* sub = producer(divide.inputs[0]);
    DraftNode* root = producer(divide.inputs[1]);
    if (!sub || sub->op != "sub" || sub->inputs.size() != 2 || !root || root->op != "sqrt") return;
    DraftNode* mean = producer(sub->inputs[1]);
    DraftNode* plus = producer(root->inputs[0]);
    if (!mean || mean->op != "mean" || mean->inputs[0] != sub->inputs[0] || !plus || plus->op != "add" ||
        plus->inputs.size() != 1)
      return;
    DraftNode* variance = producer(plus->inputs[0]);
    if (!variance || variance->op != "mean") return;
    DraftNode* square = producer(variance->inputs[0]);
    if (!square || square->op != "pow" || !is_number(*square, 2)) return;
    DraftNode* centred = producer(square->inputs[0]);
    if (!centred || centred->op != "sub" || centred->inputs != sub->inputs) return;
    const DraftId x = sub->inputs[0];
    const Sizes& sizes = draft_.values[x].sizes;
    double eps = 1e-5;
    for (const Attr& attr : plus->attrs) {
      if (attr.key == "other" && std::holds_alternative<double>(attr.value)) eps = std::get<double>(attr.value);
    }
    // weight and bias may follow
    std::vector<DraftId> inputs{x};
    DraftNode* last = &divide;
    DraftNode* scale = only_reader(divide.outputs[0], "mul");
    DraftNode* shift = nullptr;
    const DraftId weight = scale ? other_input(*scale, divide.outputs[0]) : DraftId{};
    if (weight && draft_.values[weight].home == Home::stored && draft_.values[weight].sizes.rank() == 1) {
      inputs.push_back(weight);
      last = scale;
      shift = only_reader(scale->outputs[0], "add");
      const DraftId bias = shift ? other_input(*shift, scale->outputs[0]) : DraftId{};
      if (bias && draft_.values[bias].home == Home::stored && draft_.values[bias].sizes.rank() == 1) {
        inputs.push_back(bias);
        last = shift;
      }
    }
    for (size_t i = 1; i < inputs.size(); ++i) draft_.values[inputs[i]].use = Use::weight;
    for (DraftNode* part : {sub, centred, mean, square, variance, plus, root, &divide}) part->dropped = true;
    if (last != &divide && scale) scale->dropped = true;
    last->dropped = false;
    last->op = "layer_norm";
    last->inputs = std::move(inputs);
    last->attrs = {{"normalized_shape", std::vector<int64_t>{sizes[-1].now}}, {"eps", eps}};
  }

  DraftNode* only_reader(DraftId id, std::string_view op) {
    if (!read_once(id)) return nullptr;
    for (uint32_t s = draft_.values[id].producer.index + 1; s <= draft_.nodes.size(); ++s) {
      DraftNode& step = draft_.nodes[StepId{s}];
      if (step.dropped || std::ranges::find(step.inputs, id) == step.inputs.end()) continue;
      return step.op == op && step.inputs.size() == 2 ? &step : nullptr;
    }
    return nullptr;
  }
  static DraftId other_input(const DraftNode& step, DraftId id) {
    return step.inputs[0] == id ? step.inputs[1] : step.inputs[0];
  }

  Draft& draft_;
  std::vector<int> reads_;
};

}  // namespace

void fuse(Lowering& lowering) { Fuse(lowering).run(); }

}  // namespace ullage::onnx
