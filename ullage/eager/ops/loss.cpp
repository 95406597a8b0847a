// Losses (Loss.cpp, LossNLL.cpp, nll_loss kernels): composites call the functions that record their own nodes.
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

bool reduces(const Call& c) { return c.node.attr_text("reduction") != "none" && c.node.attr_int("reduction", 1) != 0; }

Tensor log_softmax(Machine& m, const Tensor& x) {
  Tensor y = m.empty_like(x);
  m.record("LogSoftmaxBackward0", {x}, {y}, {y}, [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
  return y;
}

// nll_loss and nll_loss2d: the gradient is a zero-filled tensor like the log-probabilities.
Tensor nll(Machine& m, const Tensor& log_probs, const Tensor& target, const Tensor& weight, bool reduce) {
  Tensor out = m.empty(reduce ? Shape{} : target.sizes(), log_probs.dtype());
  const Tensor total_weight = m.empty({}, log_probs.dtype());
  m.record(log_probs.rank() > 2 ? "NllLoss2DBackward0" : "NllLossBackward0", {log_probs}, {out},
           {log_probs, target, weight, total_weight}, [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
  return out;
}

void cross_entropy(Call& c) {
  const Tensor& scores = c.in[0];
  const Tensor& target = c.in[1];
  const Tensor weight = c.in.size() > 2 ? c.in[2] : Tensor();
  Tensor log_probs = log_softmax(c.m, scores);
  // The composite names the dtype itself, so autocast leaves log_softmax in half and casts at nll_loss (fp32 list).
  if (c.m.autocast()) log_probs = c.m.autocast_fp32(log_probs);
  c.out[0] = nll(c.m, log_probs, target, weight, reduces(c));
}

void nll_loss(Call& c) { c.out[0] = nll(c.m, c.in[0], c.in[1], c.in.size() > 2 ? c.in[2] : Tensor(), reduces(c)); }

// mse_loss: the differences, squared in place, then their mean. Both operands are kept, and gradients of both are one
// tensor each.
void mse_loss(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& y = c.in[1];
  Tensor out;
  if (reduces(c)) {
    const Tensor squares = pointwise_result(c.m, {&x, &y}, result_type({&x, &y}));
    const NoGrad off(c.m);
    out = mean_dims(c.m, squares, {}, false);
  } else {
    out = pointwise_result(c.m, {&x, &y}, result_type({&x, &y}));
  }
  c.m.record("MseLossBackward0", {x, y}, {out}, {x, y}, [](Backward& b) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (b.needs(i)) b.set(i, b.m.empty_like(b.saved(i)));
    }
  });
  c.out[0] = std::move(out);
}

constexpr RuleRow kRules[] = {
    {"cross_entropy_loss", cross_entropy, Autocast::none,
     "LossNLL.cpp: log_softmax and nll_loss; keeps log-probabilities, target, total_weight; trace 2.15"},
    {"mse_loss", mse_loss, Autocast::fp32, "Loss.cpp: mse_loss; trace 2.15"},
    {"nll_loss", nll_loss, Autocast::fp32, "derivatives.yaml: nll_loss keeps self, target, weight, total_weight"},
};

}  // namespace

std::span<const RuleRow> loss_rules() { return kRules; }

}  // namespace ullage::eager
