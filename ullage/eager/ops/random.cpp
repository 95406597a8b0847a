#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

bool drops(const Call& c) {
  return c.node.attr_int("train", 1) != 0 && c.node.attr_float("p", 0.5) > 0 && c.in[0].numel() > 0;
}

// x times a tensor that is kept: the noise of feature and in-place dropout.
void times_kept(Call& c, Tensor noise) {
  const Tensor& x = c.in[0];
  Tensor y = c.in_place ? same_storage(c.m, x) : pointwise_result(c.m, {&x, &noise}, x.dtype());
  c.m.record("MulBackward0", {x}, {y}, {noise},
             [](Backward& b) { b.set(0, pointwise_result(b.m, {&b.grad(), &b.saved(0)}, b.grad().dtype())); });
  c.out[0] = y;
}

// The fused kernel makes a bool mask, then the result; it also runs without gradients.
void dropout(Call& c) {
  const Tensor& x = c.in[0];
  if (!drops(c)) {
    c.out[0] = x;
    return;
  }
  if (c.node.attr_float("p", 0.5) == 1) return times_kept(c, c.m.empty({}, x.dtype()));
  if (c.in_place) return times_kept(c, c.m.empty_like(x));
  const Tensor mask = c.m.empty_like(x, DType::boolean);
  Tensor y = c.m.empty_like(x);
  c.m.record("NativeDropoutBackward0", {x}, {y}, {mask},
             [](Backward& b) { b.set(0, pointwise_result(b.m, {&b.grad(), &b.saved(0)}, b.grad().dtype())); });
  c.out[0] = y;
}

void feature_dropout(Call& c) {
  const Tensor& x = c.in[0];
  if (!drops(c)) {
    c.out[0] = x;
    return;
  }
  Shape channels = x.sizes();
  for (int d = 2; d < channels.rank(); ++d) channels.set(d, 1);
  times_kept(c, c.m.empty(channels, x.dtype()));
}

void bernoulli(Call& c) {
  const Tensor& x = c.in[0];
  if (c.in_place) {  // fills x: what was recorded before does not matter any more
    c.out[0] = same_storage(c.m, x);
    return;
  }
  Tensor y = c.m.empty_like(x);
  c.m.record("BernoulliBackward0", {x}, {y}, {}, [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
  c.out[0] = y;
}

void rand(Call& c) { c.out[0] = c.m.empty(c.shape(), c.graph_dtype()); }

constexpr RuleRow kRules[] = {
    {"bernoulli", bernoulli, Autocast::none, "derivatives.yaml: bernoulli; trace 2.15"},
    {"dropout", dropout, Autocast::none, "Dropout.cpp: native_dropout; trace 2.15"},
    {"feature_dropout", feature_dropout, Autocast::none, "Dropout.cpp: feature_dropout; trace 2.15"},
    {"rand", rand, Autocast::none, "TensorFactories.cpp; trace 2.15"},
};

}  // namespace

std::span<const RuleRow> random_rules() { return kRules; }

}  // namespace ullage::eager
