// Pooling: every kind keeps its input (max pooling its indices too) and makes one gradient of the input's size.
#include <array>

#include "ullage/eager/aten.h"
#include "ullage/eager/ops/compose.h"
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

// Where a kernel copies what is not laid out as it wants.
struct Pooling {
  std::string_view backward;
  bool indices = false;
  bool channels_last = false;  // has a channels_last kernel; otherwise always contiguous
  bool input_again = false;    // backward makes the input contiguous too
};

constexpr Pooling kAverage2d{.backward = "AvgPool2DBackward0", .channels_last = true};
constexpr Pooling kAverage3d{.backward = "AvgPool3DBackward0"};
constexpr Pooling kAdaptiveAverage2d{.backward = "AdaptiveAvgPool2DBackward0", .channels_last = true};
constexpr Pooling kAdaptiveAverage3d{.backward = "AdaptiveAvgPool3DBackward0"};
constexpr Pooling kMax2d{
    .backward = "MaxPool2DWithIndicesBackward0", .indices = true, .channels_last = true, .input_again = true};
constexpr Pooling kMax3d{.backward = "MaxPool3DWithIndicesBackward0", .indices = true};
constexpr Pooling kAdaptiveMax2d{.backward = "AdaptiveMaxPool2DBackward0", .indices = true};
constexpr Pooling kAdaptiveMax3d{.backward = "AdaptiveMaxPool3DBackward0", .indices = true};

MemoryFormat format_for(const Pooling& pooling, const Tensor& x) {
  return pooling.channels_last ? suggested_format(x.sizes(), x.strides()) : MemoryFormat::contiguous;
}

Tensor empty(Machine& m, const Shape& sizes, DType dtype, MemoryFormat format) {
  const bool channels_last = format == MemoryFormat::channels_last && sizes.rank() >= 4;
  return m.empty_strided(sizes, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes), dtype);
}

struct Pooled {
  Tensor out;
  Tensor indices;
};

Pooled pool(Machine& m, const Tensor& x, const Shape& sizes, const Pooling& pooling) {
  const MemoryFormat format = format_for(pooling, x);
  Pooled result;
  result.out = empty(m, sizes, x.dtype(), format);
  if (pooling.indices) result.indices = empty(m, sizes, DType::i64, format);
  {
    const NoGrad off(m);
    const Tensor dense = contiguous(m, x, format);
  }
  m.record(pooling.backward, {x}, {result.out}, {x, result.indices}, [pooling, format](Backward& b) {
    const Tensor& input = b.saved(0);
    b.set(0, empty(b.m, input.sizes(), input.dtype(), format));
    const Tensor again = pooling.input_again ? contiguous(b.m, input, format) : Tensor();
    const Tensor dense = contiguous(b.m, b.grad(), format);
  });
  return result;
}

void give(Call& c, Pooled result) {
  c.out[0] = std::move(result.out);
  if (c.wants(1)) c.out[1] = std::move(result.indices);
}

template <const Pooling& pooling>
void pool_rule(Call& c) {
  give(c, pool(c.m, c.in[0], c.shape(), pooling));
}

// The 1-d forms run the 2-d kernel on a view with one more dim of size 1.
template <const Pooling& pooling>
void pool1d_rule(Call& c) {
  Shape sizes = c.shape();
  sizes.insert(sizes.rank() - 1, 1);
  Pooled result = pool(c.m, unsqueeze(c.m, c.in[0], -2), sizes, pooling);
  result.out = squeeze(c.m, result.out, -2);
  if (c.wants(1)) result.indices = squeeze(c.m, result.indices, -2);
  give(c, std::move(result));
}

bool to_one_pixel(const Shape& sizes, int spatial) {
  for (int d = 1; d <= spatial; ++d) {
    if (sizes[-d] != 1) return false;
  }
  return true;
}

void adaptive_avg_pool1d(Call& c) {
  Shape sizes = c.shape();
  sizes.insert(sizes.rank() - 1, 1);
  const Tensor x = unsqueeze(c.m, c.in[0], -2);
  const Tensor out = to_one_pixel(sizes, 2) ? mean_dims(c.m, x, std::array<int64_t, 2>{-1, -2}, true)
                                            : pool(c.m, x, sizes, kAdaptiveAverage2d).out;
  c.out[0] = squeeze(c.m, out, -2);
}

void adaptive_avg_pool2d(Call& c) {
  const Tensor& x = c.in[0];
  if (!to_one_pixel(c.shape(), 2)) return pool_rule<kAdaptiveAverage2d>(c);
  Tensor out = mean_dims(c.m, x, std::array<int64_t, 2>{-1, -2}, true);
  if (suggested_format(x.sizes(), x.strides()) ==
      MemoryFormat::channels_last) {  // as_strided_: same bytes, other format
    out.impl()->strides = channels_last_strides(out.sizes());
  }
  c.out[0] = std::move(out);
}

void adaptive_avg_pool3d(Call& c) {
  if (!to_one_pixel(c.shape(), 3)) return pool_rule<kAdaptiveAverage3d>(c);
  c.out[0] = mean_dims(c.m, c.in[0], std::array<int64_t, 3>{-1, -2, -3}, true);
}

// F.lp_pool2d: relu(sign(s)) * relu(abs(s)) * k, to the power 1/p, of an average s of x to the power p.
void lp_pool(Call& c) {
  Machine& m = c.m;
  const Tensor& x = c.in[0];
  const double p = c.node.attr_float("norm_type", 2.0);
  Tensor pooled;
  {
    const Tensor powered = run_rule(m, "pow", {x}, x.sizes(), {{"exponent", p}});
    Shape sizes = c.shape();
    if (x.rank() == 3) {
      sizes.insert(2, 1);
      pooled = squeeze(m, pool(m, unsqueeze(m, powered, -2), sizes, kAverage2d).out, -2);
    } else {
      pooled = pool(m, powered, sizes, x.rank() == 5 ? kAverage3d : kAverage2d).out;
    }
  }
  const Shape& sizes = c.shape();
  Tensor signs = run_rule(m, "sign", {pooled}, sizes);
  const Tensor magnitude = run_rule(m, "relu", {run_rule(m, "abs", {pooled}, sizes)}, sizes);
  Tensor product = mul(m, signs, magnitude);
  product = mul_scalar(m, product);
  c.out[0] = run_rule(m, "pow", {product}, sizes, {{"exponent", 1.0 / p}});
}

void max_unpool2d(Call& c) {
  const Tensor& indices = c.in[1];
  c.out[0] = c.m.empty(c.shape(), c.in[0].dtype());
  c.m.record("MaxUnpool2DBackward0", {c.in[0]}, {c.out[0]}, {indices},
             [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.input(0).dtype)); });
}

// torchvision's: keeps the boxes only. Its autocast runs it in float32 and casts the result back.
void roi_align(Call& c) {
  Machine& m = c.m;
  const DType dtype = c.in[0].dtype();
  if (m.autocast()) {
    for (size_t i = c.in.size(); i-- > 0;) c.in[i] = m.autocast_fp32(c.in[i]);
  }
  Tensor out = m.empty(c.shape(), c.in[0].dtype());
  m.record("RoiAlignBackward", {c.in[0]}, {out}, {c.in[1]},
           [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.input(0).dtype)); });
  c.in[0] = {};
  c.out[0] = to_dtype(m, out, dtype);
}

constexpr RuleRow kRules[] = {
    {"adaptive_avg_pool1d", adaptive_avg_pool1d, Autocast::none, "Pool.cpp: through 2-d; trace 2.15"},
    {"adaptive_avg_pool2d", adaptive_avg_pool2d, Autocast::none,
     "AdaptiveAveragePooling.cpp: 1x1 is a mean; trace 2.15"},
    {"adaptive_avg_pool3d", adaptive_avg_pool3d, Autocast::none,
     "AdaptiveAveragePooling3d.cpp: 1x1x1 is a mean; trace 2.15"},
    {"adaptive_max_pool1d", pool1d_rule<kAdaptiveMax2d>, Autocast::none, "Pool.cpp: through 2-d; trace 2.15"},
    {"adaptive_max_pool2d", pool_rule<kAdaptiveMax2d>, Autocast::none,
     "derivatives.yaml: adaptive_max_pool2d; trace 2.15"},
    {"adaptive_max_pool3d", pool_rule<kAdaptiveMax3d>, Autocast::none,
     "derivatives.yaml: adaptive_max_pool3d; trace 2.15"},
    {"avg_pool1d", pool1d_rule<kAverage2d>, Autocast::none, "Pool.cpp: through 2-d; trace 2.15"},
    {"avg_pool2d", pool_rule<kAverage2d>, Autocast::none, "derivatives.yaml: avg_pool2d keeps its input; trace 2.15"},
    {"avg_pool3d", pool_rule<kAverage3d>, Autocast::none, "derivatives.yaml: avg_pool3d keeps its input; trace 2.15"},
    {"lp_pool", lp_pool, Autocast::none, "torch.nn.functional.lp_pool2d; trace 2.15"},
    {"max_pool1d", pool1d_rule<kMax2d>, Autocast::none, "Pool.cpp: max_pool1d_with_indices through 2-d; trace 2.15"},
    {"max_pool2d", pool_rule<kMax2d>, Autocast::none, "derivatives.yaml: max_pool2d_with_indices; trace 2.15"},
    {"max_pool3d", pool_rule<kMax3d>, Autocast::none, "derivatives.yaml: max_pool3d_with_indices; trace 2.15"},
    {"max_unpool2d", max_unpool2d, Autocast::none, "derivatives.yaml: max_unpool2d keeps the indices; trace 2.15"},
    {"roi_align", roi_align, Autocast::none, "torchvision roi_align_kernel.cu and its autocast; trace 0.29"},
};

}  // namespace

std::span<const RuleRow> pooling_rules() { return kRules; }

}  // namespace ullage::eager
