// Dropouts and random tensors (Dropout.cpp, Dropout.cu).
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

bool is_off(const Call& c) {
  return c.node.attr_int("train", 1) == 0 || c.node.attr_float("p", 0.5) <= 0 || c.in[0].numel() == 0;
}

Tensor in_place_result(Call& c) {
  const Tensor& x = c.in[0];
  return c.m.view_of(x, x.sizes(), x.strides());
}

// Multiplies by noise that backward multiplies by again: the form of feature dropouts and of every dropout in place.
void drop_by_noise(Call& c, const Shape& noise_sizes) {
  const Tensor& x = c.in[0];
  const Tensor noise = c.m.empty(noise_sizes, x.dtype());
  Tensor y = c.in_place ? in_place_result(c) : c.m.empty_like(x);
  c.m.record("MulBackward0", {x}, {y}, {noise}, [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
  c.out[0] = std::move(y);
}

void dropout(Call& c) {
  const Tensor& x = c.in[0];
  if (is_off(c)) {
    c.out[0] = x;
    return;
  }
  if (c.in_place) return drop_by_noise(c, x.sizes());
  const Tensor mask = c.m.empty_like(x, DType::boolean);
  Tensor y = c.m.empty_like(x);
  c.m.record("NativeDropoutBackward0", {x}, {y}, {mask}, [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
  c.out[0] = std::move(y);
}

void feature_dropout(Call& c) {
  const Tensor& x = c.in[0];
  if (is_off(c)) {
    c.out[0] = x;
    return;
  }
  Shape noise = x.sizes();
  for (int d = 2; d < noise.rank(); ++d) noise.set(d, 1);
  drop_by_noise(c, noise);
}

void random_tensor(Call& c) { c.out[0] = c.m.empty(c.shape(), c.graph_dtype()); }

constexpr RuleRow kRules[] = {
    {"bernoulli", random_tensor, Autocast::none, "Distributions.cpp: result only, no gradient"},
    {"dropout", dropout, Autocast::none,
     "Dropout.cu: a bool mask, then the result; in place a noise tensor in the input's dtype; trace 2.15"},
    {"feature_dropout", feature_dropout, Autocast::none,
     "Dropout.cpp: noise of [N, C, 1, …], then the product; trace 2.15"},
    {"rand", random_tensor, Autocast::none, "TensorFactories: result only"},
};

}  // namespace

std::span<const RuleRow> random_rules() { return kRules; }

}  // namespace ullage::eager
