// Products: the matrix products of ATen as functions, for the rules of linear, matmul, einsum, attention and recurrent
// layers.
//
//   const Tensor y = linear(m, x, weight, bias);       // t + addmm, each with its node; cuBLASLt's workspace during
//   the call const Tensor scores = matmul(m, q, transpose(m, k, -2, -1));
//
// The order within each (result, copies of operands that cuBLAS cannot read in place, workspace) and in backward (which
// gradient first) is that of torch/aten 2.15. Not here: what autocast does before (rules.h).
#pragma once

#include <span>
#include <string_view>

#include "ullage/eager/machine.h"

namespace ullage::eager {

// What one cuBLAS call takes while it runs; undefined when the handle keeps its own.
Tensor gemm_memory(Machine& m);

struct AddmmFactors {
  bool alpha_is_one = true;
  bool beta_is_one = true;
};

Tensor mm(Machine& m, const Tensor& a, const Tensor& b);
Tensor bmm(Machine& m, const Tensor& a, const Tensor& b);
Tensor mv(Machine& m, const Tensor& a, const Tensor& vec);
Tensor dot(Machine& m, const Tensor& a, const Tensor& b);
Tensor addmm(Machine& m, const Tensor& self, const Tensor& mat1, const Tensor& mat2, AddmmFactors factors = {});
Tensor baddbmm(Machine& m, const Tensor& self, const Tensor& batch1, const Tensor& batch2, AddmmFactors factors = {});
Tensor matmul(Machine& m, const Tensor& a, const Tensor& b);
Tensor linear(Machine& m, const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor einsum(Machine& m, std::string_view equation, std::span<const Tensor> operands);

}  // namespace ullage::eager
