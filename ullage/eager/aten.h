// The ATen functions that rules, the engine and the optimizers call on each other: each records its own autograd node
// when grad mode is on, as the C++ functions of the same names do.
#pragma once

#include "ullage/eager/machine.h"

namespace ullage::eager {

// ---- copies and casts ----
Tensor clone(Machine& m, const Tensor& x);             // preserve_format
Tensor clone_contiguous(Machine& m, const Tensor& x);  // contiguous format
Tensor contiguous(Machine& m, const Tensor& x);        // x itself when it already is
Tensor contiguous(Machine& m, const Tensor& x, MemoryFormat format);
Tensor to_dtype(Machine& m, const Tensor& x, DType dtype);  // x itself when the dtype is right
// ---- views ----
Tensor view(Machine& m, const Tensor& x, const Shape& sizes);     // must be possible
Tensor reshape(Machine& m, const Tensor& x, const Shape& sizes);  // view, or clone + view
Tensor expand(Machine& m, const Tensor& x, const Shape& sizes);
Tensor transpose(Machine& m, const Tensor& x, int dim0, int dim1);
Tensor permute(Machine& m, const Tensor& x, std::span<const int64_t> dims);
Tensor squeeze(Machine& m, const Tensor& x, int dim);
Tensor unsqueeze(Machine& m, const Tensor& x, int dim);
Tensor slice(Machine& m, const Tensor& x, int dim, int64_t start, int64_t length, int64_t step = 1);
// ---- reductions ----
Tensor sum_to_size(Machine& m, const Tensor& x, const Shape& sizes);  // x itself when the sizes are right
Tensor sum_dims(Machine& m, const Tensor& x, std::span<const int64_t> dims, bool keepdim);  // no dims: over all
Tensor mean_dims(Machine& m, const Tensor& x, std::span<const int64_t> dims, bool keepdim);
// Storage of what a reduction kernel makes: the result, and the scratch that it needs while it runs. Records nothing.
struct Accumulator {
  int bytes = 4;
  int values_at_once = 4;  // 2 for var and std
};
Tensor reduced(Machine& m, const Tensor& x, std::span<const int64_t> dims, bool keepdim, DType dtype,
               Accumulator accumulator = {});
Shape reduced_shape(const Shape& sizes, std::span<const int64_t> dims, bool keepdim);
// ---- arithmetic ----
Tensor add(Machine& m, const Tensor& a, const Tensor& b);
Tensor mul(Machine& m, const Tensor& a, const Tensor& b);
Tensor mul_scalar(Machine& m, const Tensor& a);
Tensor div_scalar(Machine& m, const Tensor& a);

// Sizes and strides of an elementwise result (TensorIterator: keeps the layout of a dense operand of full size).
Tensor pointwise_result(Machine& m, std::initializer_list<const Tensor*> operands, DType dtype);
Tensor pointwise_result(Machine& m, std::span<const Tensor> operands, DType dtype);
// Result dtype of arithmetic among tensors and numbers (torch.result_type): numbers and 0-d tensors do not widen within
// a category.
DType result_type(std::initializer_list<const Tensor*> operands);

}  // namespace ullage::eager
