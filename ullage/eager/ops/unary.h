// Ops of one input and one result of its sizes, as data: what autograd keeps, and how many full-size tensors its
// formula makes on the way to the gradient. A row here is all that relu, sin or gelu differ in.
//
//   {"sin", "SinBackward0", Keeps::input, 1, "grad * self.cos()"}     // cos(self), then the product
//
// Ops of two operands and ops whose backward makes masks or scalars are functions of their own (pointwise.cpp).
#pragma once

#include <array>
#include <utility>

#include "ullage/eager/rules.h"

namespace ullage::eager {

enum class Keeps : uint8_t { nothing, input, result };

struct Unary {
  std::string_view op;
  std::string_view node;  // PyTorch's autograd node
  Keeps keeps;
  int temporaries;  // before the gradient, freed last made first
  std::string_view source;
  Autocast autocast = Autocast::none;
  bool result_in_place =
      false;  // keeps its input, but its in-place form keeps the result instead of a copy of the input
};

Tensor unary(Machine& m, const Unary& row, const Tensor& x, DType dtype, bool in_place = false);

template <const auto& kTable, size_t kRow>
void run_unary(Call& c) {
  const DType dtype = is_differentiable(c.in[0].dtype()) ? c.in[0].dtype() : c.graph_dtype();
  c.out[0] = unary(c.m, kTable[kRow], c.in[0], dtype, c.in_place);
}

// The rules of a table of Unary rows.
template <const auto& kTable>
constexpr auto unary_rules() {
  return []<size_t... kRows>(std::index_sequence<kRows...>) {
    return std::array<RuleRow, sizeof...(kRows)>{
        RuleRow{kTable[kRows].op, run_unary<kTable, kRows>, kTable[kRows].autocast, kTable[kRows].source}...};
  }(std::make_index_sequence<std::size(kTable)>());
}

// The result of an in-place op: the same storage under a new handle.
inline Tensor same_storage(Machine& m, const Tensor& x) { return m.view_of(x, x.sizes(), x.strides()); }

}  // namespace ullage::eager
