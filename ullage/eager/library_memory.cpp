#include "ullage/eager/library_memory.h"

namespace ullage::eager {
namespace {

// CUBLAS_WORKSPACE_CONFIG's defaults in PyTorch: ":4096:2:16:8" and ":4096:8" (KiB : count pairs).
constexpr Bytes kCublasDefault = KiB(int64_t{2} * 4096 + int64_t{8} * 16);  // 8,519,680
constexpr Bytes kCublasLarge = KiB(int64_t{8} * 4096);  // 33,554,432: sm90; traced on sm100 and sm120 with 2.15 too

// CUBLASLT_WORKSPACE_SIZE's default. 2.15, traced on sm75, 80, 86, 89, 90, 100 and 120: 1 MiB everywhere.
constexpr Bytes kCublasLtDefault = MiB(1);

constexpr TorchVersion kFirstWithCublasWorkspace{2, 0};  // up to 1.13 cuBLAS allocates for itself
constexpr TorchVersion kFirstWithLargeBlackwell{2, 11};  // early 2026; attempts before were taken back
constexpr TorchVersion kFirstPerCall{2, 15};             // traced; between 2.0 and 2.14 the handle keeps it

Bytes cublas_bytes(int compute_capability, TorchVersion torch) {
  const bool hopper = compute_capability >= 90 && compute_capability < 100;
  const bool blackwell = compute_capability >= 100 && torch >= kFirstWithLargeBlackwell;
  return hopper || blackwell ? kCublasLarge : kCublasDefault;
}

}  // namespace

LibraryWorkspace blas_workspace(BlasCall call, int compute_capability, TorchVersion torch) {
  if (call == BlasCall::gemm_epilogue) {
    // From 2.9 to 2.14 kept like cuBLAS's; before and after, one block a call.
    const bool kept = torch >= TorchVersion{2, 9} && torch < kFirstPerCall;
    return {kCublasLtDefault, kept ? WorkspaceLifetime::process : WorkspaceLifetime::call};
  }
  if (torch < kFirstWithCublasWorkspace) return {Bytes(), WorkspaceLifetime::none};
  return {cublas_bytes(compute_capability, torch),
          torch >= kFirstPerCall ? WorkspaceLifetime::call : WorkspaceLifetime::process};
}

}  // namespace ullage::eager
