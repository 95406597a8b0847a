// Resampling (UpSample*.cu, GridSampler.cu, AffineGridGenerator.cpp).
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

// Keeps sizes only; the gradient is one tensor like the input.
void interpolate(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = x.is_channels_last() && !x.is_contiguous()
                 ? c.m.empty_strided(c.shape(), channels_last_strides(c.shape()), x.dtype())
                 : c.m.empty(c.shape(), x.dtype());
  c.m.record("UpsampleBackward0", {x}, {y}, {},
             [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.grad().dtype())); });
  c.out[0] = std::move(y);
}

void grid_sampler(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& grid = c.in[1];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  // Both are kept whatever trains; the grid's gradient is made in any case.
  c.m.record("GridSampler2DBackward0", {x, grid}, {y}, {x, grid}, [](Backward& b) {
    if (b.needs(0)) b.set(0, b.m.empty_like(b.saved(0)));
    b.set(1, b.m.empty_like(b.saved(1)));
  });
  c.out[0] = std::move(y);
}

void affine_grid(Call& c) {
  const Tensor& theta = c.in[0];
  const Shape& out = c.shape();
  Shape base = out;
  base.set(0, 1);
  base.set(-1, out[-1] + 1);  // homogeneous coordinates
  const Tensor grid = c.m.empty(base, theta.dtype());
  Tensor y = c.m.empty(out, theta.dtype());
  c.m.record("AffineGridGeneratorBackward0", {theta}, {y}, {}, [base](Backward& b) {
    const Tensor again = b.m.empty(base, b.grad().dtype());
    b.set(0, b.m.empty(b.input(0).sizes, b.grad().dtype()));
  });
  c.out[0] = std::move(y);
}

constexpr RuleRow kRules[] = {
    {"affine_grid", affine_grid, Autocast::none, "AffineGridGenerator.cpp: a homogeneous base grid for the call"},
    {"grid_sampler", grid_sampler, Autocast::promote, "derivatives.yaml: grid_sampler_2d keeps input and grid"},
    {"interpolate", interpolate, Autocast::fp32, "derivatives.yaml: upsample_* keep sizes only; trace 2.15"},
};

}  // namespace

std::span<const RuleRow> resize_rules() { return kRules; }

}  // namespace ullage::eager
