#include "ullage/eager/ops/products.h"

#include "ullage/eager/aten.h"
#include "ullage/eager/library_memory.h"

namespace ullage::eager {
namespace {

Tensor blas_memory(Machine& m, BlasCall call) {
  if (m.options().keep_blas_workspace) return {};  // the handle's own, allocated once by the training loop
  return m.workspace(blas_workspace(call, m.options().compute_capability).bytes);
}

bool columns_in_one_piece(int64_t rows, int64_t row_stride, int64_t column_stride) {
  return row_stride == 1 && column_stride >= std::max<int64_t>(1, rows);
}

// prepare_matrix_for_cublas and its batched form: cuBLAS reads a matrix whose rows or columns lie in one piece; else a
// copy.
Tensor gemm_operand(Machine& m, const Tensor& t) {
  if (t.rank() == 2 && t.is_non_overlapping_and_dense()) return t;
  const int64_t rows = t.size(-2);
  const int64_t columns = t.size(-1);
  const int64_t row_stride = t.strides()[-2];
  const int64_t column_stride = t.strides()[-1];
  if (columns_in_one_piece(rows, row_stride, column_stride)) return t;
  if (columns_in_one_piece(columns, column_stride, row_stride)) return t;
  if (t.is_contiguous()) return t;
  NoGrad off(m);
  return clone_contiguous(m, t);
}

bool column_major(const Shape& sizes, const Strides& strides) { return strides[0] == 1 && strides[1] == sizes[0]; }

// Operands, workspace and FLOPs of a product whose result exists; what it holds goes when it returns.
void run_gemm(Machine& m, const Tensor& a, const Tensor& b, BlasCall call) {
  const Tensor left = gemm_operand(m, a);
  const Tensor right = gemm_operand(m, b);
  const Tensor memory = blas_memory(m, call);
  const int64_t batch = a.rank() == 3 ? a.size(0) : 1;
  m.count_flops(saturating_mul(saturating_mul(2 * batch, a.size(-2)), saturating_mul(a.size(-1), b.size(-1))));
}

Tensor scale_if(Machine& m, Tensor t, bool is_one) { return is_one ? t : mul_scalar(m, t); }

// mm_mat1_backward and mm_mat2_backward: the gradient gets the operand's own layout, so that a weight's can be stored
// as it is.
Tensor grad_of_mat1(Machine& m, const Tensor& grad, const Tensor& mat2, bool fortran) {
  if (fortran) return transpose(m, mm(m, mat2, transpose(m, grad, 0, 1)), 0, 1);
  return mm(m, grad, transpose(m, mat2, 0, 1));
}

Tensor grad_of_mat2(Machine& m, const Tensor& grad, const Tensor& mat1, bool fortran) {
  if (fortran) return transpose(m, mm(m, transpose(m, grad, 0, 1), mat1), 0, 1);
  return mm(m, transpose(m, mat1, 0, 1), grad);
}

// Operands are kept by their names in alphabetical order (mat2 before self), and go in that order.
Tensor if_needed(const Tensor& kept, const Tensor& for_gradient_of) {
  return for_gradient_of.requires_grad() ? kept : Tensor();
}

}  // namespace

Tensor gemm_memory(Machine& m) { return blas_memory(m, BlasCall::gemm); }

Tensor mm(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor out = m.empty({a.size(0), b.size(1)}, a.dtype());
  run_gemm(m, a, b, BlasCall::gemm);
  const bool a_fortran = column_major(a.sizes(), a.strides());
  const bool b_fortran = column_major(b.sizes(), b.strides());
  m.record("MmBackward0", {a, b}, {out}, {if_needed(b, a), if_needed(a, b)}, [a_fortran, b_fortran](Backward& c) {
    if (c.needs(1)) c.set(1, grad_of_mat2(c.m, c.grad(), c.saved(1), b_fortran));
    if (c.needs(0)) c.set(0, grad_of_mat1(c.m, c.grad(), c.saved(0), a_fortran));
  });
  return out;
}

Tensor bmm(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor out = m.empty({a.size(0), a.size(1), b.size(2)}, a.dtype());
  if (a.size(2) == 1) {  // an outer product runs as a multiplication
    m.count_flops(2 * out.numel());
  } else {
    run_gemm(m, a, b, BlasCall::gemm);
  }
  m.record("BmmBackward0", {a, b}, {out}, {if_needed(b, a), if_needed(a, b)}, [](Backward& c) {
    if (c.needs(1)) c.set(1, bmm(c.m, transpose(c.m, c.saved(1), 1, 2), c.grad()));
    if (c.needs(0)) c.set(0, bmm(c.m, c.grad(), transpose(c.m, c.saved(0), 1, 2)));
  });
  return out;
}

Tensor mv(Machine& m, const Tensor& a, const Tensor& vec) {
  Tensor out = m.empty({a.size(0)}, a.dtype());
  {
    const Tensor memory = blas_memory(m, BlasCall::gemm);
    m.count_flops(2 * a.numel());
  }
  m.record("MvBackward0", {a, vec}, {out}, {if_needed(a, vec), if_needed(vec, a)}, [](Backward& c) {
    if (c.needs(0)) c.set(0, mul(c.m, unsqueeze(c.m, c.grad(), 1), c.saved(1)));
    if (c.needs(1)) c.set(1, mv(c.m, transpose(c.m, c.saved(0), 0, 1), c.grad()));
  });
  return out;
}

Tensor dot(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor out = m.empty({}, a.dtype());
  {
    const Tensor memory = blas_memory(m, BlasCall::gemm);
    m.count_flops(2 * a.numel());
  }
  m.record("DotBackward0", {a, b}, {out}, {if_needed(a, b), if_needed(b, a)}, [](Backward& c) {
    if (c.needs(0)) c.set(0, mul(c.m, c.grad(), c.saved(1)));
    if (c.needs(1)) c.set(1, mul(c.m, c.grad(), c.saved(0)));
  });
  return out;
}

Tensor addmm(Machine& m, const Tensor& self, const Tensor& mat1, const Tensor& mat2, AddmmFactors factors) {
  const int64_t n = mat2.size(1);
  Tensor out = m.empty({mat1.size(0), n}, mat1.dtype());
  const bool is_vector = self.numel() == n && (self.rank() == 1 || (self.rank() == 2 && self.size(0) == 1));
  const bool epilogue = uses_bias_epilogue(mat1.size(1), n, is_vector && self.is_contiguous(), factors.beta_is_one);
  run_gemm(m, mat1, mat2, epilogue ? BlasCall::gemm_epilogue : BlasCall::gemm);
  const bool fortran1 = column_major(mat1.sizes(), mat1.strides());
  const bool fortran2 = column_major(mat2.sizes(), mat2.strides());
  m.record("AddmmBackward0", {self, mat1, mat2}, {out}, {if_needed(mat1, mat2), if_needed(mat2, mat1)},
           [fortran1, fortran2, factors](Backward& c) {
             const auto scaled = [&](Tensor t, bool is_one) { return scale_if(c.m, std::move(t), is_one); };
             if (c.needs(1)) {
               c.set(1, scaled(grad_of_mat1(c.m, c.grad(), c.saved(1), fortran1), factors.alpha_is_one));
             }
             if (c.needs(2)) c.set(2, scaled(grad_of_mat2(c.m, c.grad(), c.saved(0), fortran2), factors.alpha_is_one));
             if (c.needs(0)) c.set(0, scaled(c.grad(), factors.beta_is_one));
           });
  return out;
}

Tensor baddbmm(Machine& m, const Tensor& self, const Tensor& batch1, const Tensor& batch2, AddmmFactors factors) {
  Tensor out = m.empty({batch1.size(0), batch1.size(1), batch2.size(2)}, batch1.dtype());
  run_gemm(m, batch1, batch2, BlasCall::gemm);
  m.record("BaddbmmBackward0", {self, batch1, batch2}, {out}, {if_needed(batch1, batch2), if_needed(batch2, batch1)},
           [factors](Backward& c) {
             const auto scaled = [&](Tensor t, bool is_one) { return scale_if(c.m, std::move(t), is_one); };
             if (c.needs(1))
               c.set(1, scaled(bmm(c.m, c.grad(), transpose(c.m, c.saved(1), 1, 2)), factors.alpha_is_one));
             if (c.needs(2))
               c.set(2, scaled(bmm(c.m, transpose(c.m, c.saved(0), 1, 2), c.grad()), factors.alpha_is_one));
             if (c.needs(0)) c.set(0, scaled(c.grad(), factors.beta_is_one));
           });
  return out;
}

}  // namespace ullage::eager
