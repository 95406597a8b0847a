// The elementwise functions that rules of other families are composed of (softsign, normalisation by hand, losses):
// each records its own node, as the composite functions of PyTorch do. The arithmetic that the engine itself needs is
// in aten.h.
#pragma once

#include <array>

#include "ullage/eager/rules.h"

namespace ullage::eager {

Tensor abs(Machine& m, const Tensor& x);
Tensor exp(Machine& m, const Tensor& x);
Tensor neg(Machine& m, const Tensor& x);
Tensor sqrt(Machine& m, const Tensor& x);
Tensor add_scalar(Machine& m, const Tensor& x);
Tensor pow_scalar(Machine& m, const Tensor& x);  // x ** number, number not 0
Tensor sub(Machine& m, const Tensor& a, const Tensor& b);
Tensor div(Machine& m, const Tensor& a, const Tensor& b);
Tensor clamp_min(Machine& m, const Tensor& x);
Tensor masked_fill(Machine& m, const Tensor& x, const Tensor& mask);
// A comparison of x with a number: one bool tensor.
Tensor compare(Machine& m, const Tensor& x);

// Two tables of rules as one.
template <size_t kA, size_t kB>
constexpr std::array<RuleRow, kA + kB> joined(const std::array<RuleRow, kA>& a, const std::array<RuleRow, kB>& b) {
  std::array<RuleRow, kA + kB> all{};
  for (size_t i = 0; i < kA; ++i) all[i] = a[i];
  for (size_t i = 0; i < kB; ++i) all[kA + i] = b[i];
  return all;
}

}  // namespace ullage::eager
