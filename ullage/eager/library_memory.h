// What cuBLAS and cuBLASLt calls take from PyTorch's allocator while they run.
//
//   const LibraryWorkspace w = blas_workspace(BlasCall::gemm, 80);          // A100: 8,519,680 B, returned after the
//   call if (w.lifetime == WorkspaceLifetime::call) auto hold = m.workspace(w.bytes);   // after the output is
//   allocated
//
// Convolutions have their own file (workspace.h). Facts and how they were measured: docs/workspace.md.
#pragma once

#include "ullage/base/bytes.h"

namespace ullage::eager {

struct TorchVersion {
  int major = 2;
  int minor = 15;
  constexpr auto operator<=>(const TorchVersion&) const = default;
};

enum class BlasCall {
  gemm,          // cuBLAS: mm, bmm, baddbmm, mv, dot, einsum; addmm with a matrix to add; every GEMM of a backward
  gemm_epilogue  // cuBLASLt adds the bias: see uses_bias_epilogue
};

enum class WorkspaceLifetime {
  none,    // allocated by the library itself, outside PyTorch's allocator
  call,    // allocated after the output, freed when the call returns
  process  // allocated by the first such call of a thread's handle and stream, then kept
};

struct LibraryWorkspace {
  Bytes bytes;
  WorkspaceLifetime lifetime = WorkspaceLifetime::call;
};

// compute_capability is 10 * major + minor.
LibraryWorkspace blas_workspace(BlasCall call, int compute_capability, TorchVersion torch = {});

// addmm(bias, a[m, k], b[k, n]) hands the bias to cuBLASLt when it is a contiguous vector of n and beta is 1;
// a product that is an outer product or a vector does not. F.linear with a bias and contiguous x is such an addmm.
constexpr bool uses_bias_epilogue(int64_t k, int64_t n, bool bias_is_contiguous_vector_of_n, bool beta_is_one = true) {
  return bias_is_contiguous_vector_of_n && beta_is_one && k > 1 && n > 1;
}

}  // namespace ullage::eager
