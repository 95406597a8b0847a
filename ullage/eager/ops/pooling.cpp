// Pooling (DilatedMaxPool2d.cu, AveragePool2d.cu, AdaptiveAveragePooling.cpp and their 1-d and 3-d kin).
#include <algorithm>

#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

Tensor result(Machine& m, const Tensor& x, const Shape& sizes, DType dtype) {
  const bool channels_last = x.is_channels_last() && !x.is_contiguous();
  return m.empty_strided(sizes, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes), dtype);
}

// max_pool*d_with_indices: int64 indices are made even when nobody asked for them; kept together with the input.
void max_pool(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = result(c.m, x, c.shape(), x.dtype());
  Tensor indices = result(c.m, x, c.shape(), DType::i64);
  c.m.record("MaxPoolWithIndicesBackward0", {x}, {y}, {x, indices},
             [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
  c.out[0] = std::move(y);
  if (c.wants(1)) c.out[1] = std::move(indices);
}

// Keeps its input, though only the sizes are needed.
void avg_pool(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = result(c.m, x, c.shape(), x.dtype());
  c.m.record("AvgPoolBackward0", {x}, {y}, {x}, [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
  c.out[0] = std::move(y);
}

// To 1x1 it is mean over the spatial dims, which keeps nothing.
void adaptive_avg_pool(Call& c) {
  const Tensor& x = c.in[0];
  const int spatial = x.rank() - 2;
  bool to_one = spatial >= 2;
  Shape dims;
  for (int d = 2; d < x.rank(); ++d) {
    to_one = to_one && c.shape()[d] == 1;
    dims.push(d);
  }
  if (!to_one) return avg_pool(c);
  c.out[0] = mean_dims(c.m, x, dims.sizes(), true);
}

void max_unpool(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record("MaxUnpool2DBackward0", {x}, {y}, {c.in[1]},
             [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.grad().dtype())); });
  c.out[0] = std::move(y);
}

// lp_pool: x.pow(p), avg_pool, then sign, abs, relu, mul and pow on the small result (functional.py).
void lp_pool(Call& c) {
  const Tensor& x = c.in[0];
  Tensor powers = c.m.empty_like(x);
  c.m.record("PowBackward0", {x}, {powers}, {x}, [](Backward& b) {
    const Tensor scaled = b.m.empty_like(b.saved(0));
    const Tensor power = b.m.empty_like(b.saved(0));
    b.set(0, b.m.empty_like(b.saved(0)));
  });
  Tensor pooled = c.m.empty(c.shape(), x.dtype());
  c.m.record("AvgPoolBackward0", {powers}, {pooled}, {powers},
             [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
  Tensor y = c.m.empty_like(pooled);
  c.m.record("PowBackward0", {pooled}, {y}, {pooled}, [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
  c.out[0] = std::move(y);
}

void roi_align(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record("RoiAlignBackward", {x}, {y}, {c.in[1]},
             [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.grad().dtype())); });
  c.out[0] = std::move(y);
}

constexpr std::string_view kMax = "derivatives.yaml: max_pool*_with_indices keep self and int64 indices; trace 2.15";
constexpr std::string_view kAvg = "derivatives.yaml: avg_pool* keep self; trace 2.15";
constexpr std::string_view kAdaptive =
    "AdaptiveAveragePooling.cpp: mean when the output is 1x1, else keeps self; trace 2.15";

constexpr RuleRow kRules[] = {
    {"adaptive_avg_pool1d", adaptive_avg_pool, Autocast::none, kAdaptive},
    {"adaptive_avg_pool2d", adaptive_avg_pool, Autocast::none, kAdaptive},
    {"adaptive_avg_pool3d", adaptive_avg_pool, Autocast::none, kAdaptive},
    {"adaptive_max_pool1d", max_pool, Autocast::none, kMax},
    {"adaptive_max_pool2d", max_pool, Autocast::none, kMax},
    {"adaptive_max_pool3d", max_pool, Autocast::none, kMax},
    {"avg_pool1d", avg_pool, Autocast::none, kAvg},
    {"avg_pool2d", avg_pool, Autocast::none, kAvg},
    {"avg_pool3d", avg_pool, Autocast::none, kAvg},
    {"lp_pool", lp_pool, Autocast::none, "functional.py: lp_pool is pow, avg_pool, pow"},
    {"max_pool1d", max_pool, Autocast::none, kMax},
    {"max_pool2d", max_pool, Autocast::none, kMax},
    {"max_pool3d", max_pool, Autocast::none, kMax},
    {"max_unpool2d", max_unpool, Autocast::none, "derivatives.yaml: max_unpool2d keeps indices"},
    {"roi_align", roi_align, Autocast::none, "torchvision roi_align: keeps rois"},
};

}  // namespace

std::span<const RuleRow> pooling_rules() { return kRules; }

}  // namespace ullage::eager
