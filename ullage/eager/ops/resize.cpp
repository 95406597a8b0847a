#include "ullage/eager/library_memory.h"
#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

bool wants_channels_last(const Tensor& t) { return t.is_channels_last() && !t.is_contiguous(); }

Tensor resized(Machine& m, const Shape& sizes, bool channels_last, DType dtype) {
  return m.empty_strided(sizes, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes), dtype);
}

// The kernels work on contiguous tensors: in channels_last both sides are copied, but bilinear forward has a kernel of
// its own.
void interpolate(Call& c) {
  const Tensor& x = c.in[0];
  const bool last = wants_channels_last(x);
  const std::string_view mode = c.node.attr_text("mode");
  Tensor y = resized(c.m, c.shape(), last, x.dtype());
  if (last && mode != "bilinear") {
    Tensor result = c.m.empty(c.shape(), x.dtype());
    const Tensor input = c.m.empty(x.sizes(), x.dtype());
  }
  const Tensor kept = mode == "area" ? x : Tensor();  // adaptive_avg_pool
  c.m.record("UpsampleBackward0", {x}, {y}, {kept}, [from = x.sizes(), last](Backward& b) {
    b.set(0, resized(b.m, from, last, b.grad().dtype()));
    if (!last) return;
    Tensor result = b.m.empty(from, b.grad().dtype());
    const Tensor grad = b.m.empty(b.grad().sizes(), b.grad().dtype());
  });
  c.out[0] = y;
}

// Both gradients come from one kernel; the grid's is made even when nobody wants it.
void grid_sampler(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& grid = c.in[1];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record("GridSampler2DBackward0", {x, grid}, {y}, {x, grid}, [](Backward& b) {
    if (b.needs(0)) b.set(0, b.m.empty(b.saved(0).sizes(), b.grad().dtype()));
    const Tensor grid_grad = b.m.empty(b.saved(1).sizes(), b.grad().dtype());
    if (b.needs(1)) b.set(1, grid_grad);
  });
  c.out[0] = y;
}

// The grid of ones and coordinates: a row of coordinates for each spatial dim, with two temporaries of its length.
Tensor base_grid(Machine& m, const Shape& grid, DType dtype) {
  Shape sizes = grid;
  sizes.set(-1, grid[-1] + 1);
  Tensor base = m.empty(sizes, dtype);
  for (int d = grid.rank() - 2; d >= 1; --d) {
    Tensor steps = m.empty({grid[d]}, dtype);
    Tensor halves = m.empty({grid[d]}, dtype);
    Tensor scaled = m.empty({grid[d]}, dtype);
    steps = {}, halves = {}, scaled = {};
  }
  return base;
}

void with_gemm_workspace(Machine& m) {
  const LibraryWorkspace workspace = blas_workspace(BlasCall::gemm, m.options().compute_capability);
  if (workspace.lifetime == WorkspaceLifetime::call) const Tensor hold = m.workspace(workspace.bytes);
}

void affine_grid(Call& c) {
  const Tensor& theta = c.in[0];
  const Tensor base = base_grid(c.m, c.shape(), theta.dtype());
  Tensor y = c.m.empty(c.shape(), theta.dtype());
  with_gemm_workspace(c.m);
  c.m.record("AffineGridGeneratorBackward0", {theta}, {y}, {}, [from = theta.sizes(), grid = c.shape()](Backward& b) {
    Tensor base_again = base_grid(b.m, grid, b.grad().dtype());
    const Tensor transposed = b.m.empty({from[0], from[2], from[1]}, b.grad().dtype());
    with_gemm_workspace(b.m);
    base_again = {};
    b.set(0, transpose(b.m, transposed, 1, 2));
  });
  c.out[0] = y;
}

constexpr RuleRow kRules[] = {
    {"affine_grid", affine_grid, Autocast::none, "AffineGridGenerator.cpp; trace 2.15"},
    {"grid_sampler", grid_sampler, Autocast::promote, "GridSampler.cu; trace 2.15"},
    {"interpolate", interpolate, Autocast::fp32, "UpSample*.cu; trace 2.15"},
};

}  // namespace

std::span<const RuleRow> resize_rules() { return kRules; }

}  // namespace ullage::eager
