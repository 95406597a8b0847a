// Normalisations (Normalization.cpp/.cu, layer_norm_kernel.cu, group_norm_kernel.cu). Statistics are float32 on CUDA.
#include "ullage/eager/ops/pointwise.h"
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

Tensor optional(const Call& c, size_t i) { return i < c.in.size() ? c.in[i] : Tensor(); }

// ---- batch norm ----

// The native kernel over [N, C] sums into two temporaries first; cuDNN and the spatial kernels do not.
Tensor batch_norm_of(Machine& m, const Tensor& x, const Tensor& weight, const Tensor& bias, bool training) {
  Tensor y = m.empty_like(x);
  const int64_t channels = x.size(1);
  const Tensor mean = training ? m.empty({channels}, DType::f32) : Tensor();
  const Tensor invstd = training ? m.empty({channels}, DType::f32) : Tensor();
  // Input and weight are kept whatever trains (autograd.md 2.3), in eval too.
  m.record("BatchNormBackward0", {x, weight, bias}, {y}, {x, weight, mean, invstd}, [](Backward& b) {
    const Tensor& input = b.saved(0);
    Shape stats{input.size(1)};
    const bool flat = input.rank() == 2 && b.saved(2).defined();
    const Tensor sum_dy = flat ? b.m.empty(stats, DType::f32) : Tensor();
    const Tensor sum_dy_xmu = flat ? b.m.empty(stats, DType::f32) : Tensor();
    const auto statistics = [&] {
      for (const size_t i : {size_t{1}, size_t{2}}) {
        if (b.needs(i)) b.set(i, b.m.empty(stats, b.input(i).dtype));
      }
    };
    if (flat) statistics();
    if (b.needs(0)) b.set(0, b.m.empty_like(input));
    if (!flat) statistics();
  });
  return y;
}

void batch_norm(Call& c) {
  const bool training = c.node.attr_int("training", 0) != 0 || !optional(c, 3).defined();
  c.out[0] = batch_norm_of(c.m, c.in[0], optional(c, 1), optional(c, 2), training);
}

// Weight and bias are repeated for every sample; the batch becomes channels.
void instance_norm(Call& c) {
  const Tensor x = contiguous(c.m, c.in[0]);
  const int64_t batch = x.size(0);
  const auto repeat = [&](const Tensor& t) {
    if (!t.defined()) return Tensor();
    Tensor out = c.m.empty({batch * t.numel()}, t.dtype());
    c.m.record("RepeatBackward0", {t}, {out}, {}, [channels = t.numel(), batch](Backward& b) {
      const Tensor rows = view(b.m, b.grad(), {batch, channels});
      const int64_t dim[] = {0};
      b.set(0, sum_dims(b.m, rows, dim, false));
    });
    return out;
  };
  const Tensor weight = repeat(optional(c, 1));
  const Tensor bias = repeat(optional(c, 2));
  Shape merged = x.sizes();
  merged.set(0, 1);
  merged.set(1, batch * x.size(1));
  const Tensor y = batch_norm_of(c.m, view(c.m, x, merged), weight, bias, true);
  c.out[0] = view(c.m, y, x.sizes());
}

// ---- layer norm ----

// Tall inputs sum the gradients of weight and bias over strips of 32 rows first (layer_norm_kernel.cu: M > 64 Ki and
// few columns).
constexpr int64_t kTallRows = int64_t{64} * 1024;
constexpr int64_t kStripRows = 32;
constexpr int64_t kWarp = 32;

void layer_norm_gradients(Backward& b, int64_t rows, int64_t columns) {
  // Contiguous whatever the input was.
  b.set(0, b.needs(0) ? b.m.empty(b.saved(0).sizes(), b.grad().dtype()) : Tensor());
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (b.needs(i)) b.set(i, b.m.empty(b.input(i).sizes, b.input(i).dtype));
  }
  const bool tall = rows > kTallRows && columns / kWarp < b.m.options().sm_count / 2;
  if (!tall || (!b.needs(1) && !b.needs(2))) return;
  const Shape strips{(rows + kStripRows - 1) / kStripRows, columns};
  const Tensor weight_strips = b.needs(1) ? b.m.empty(strips, b.input(1).dtype) : Tensor();
  const Tensor bias_strips = b.needs(2) ? b.m.empty(strips, b.input(2).dtype) : Tensor();
  const int64_t dim[] = {0};
  if (b.needs(1)) b.set(1, view(b.m, sum_dims(b.m, weight_strips, dim, false), b.input(1).sizes));
  if (b.needs(2)) b.set(2, view(b.m, sum_dims(b.m, bias_strips, dim, false), b.input(2).sizes));
}

int64_t columns_of(const Call& c) {
  int64_t columns = 1;
  for (const int64_t size : c.node.attr_ints("normalized_shape")) columns *= size;
  if (c.node.has_attr("normalized_shape")) return columns;
  return optional(c, 1).defined() ? c.in[1].numel() : c.in[0].size(-1);
}

void layer_norm(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor dense = contiguous(c.m, x);  // gone when the kernel has run; the given input is what is kept
  const int64_t columns = columns_of(c);
  const int64_t rows = x.numel() / std::max<int64_t>(columns, 1);
  const Tensor weight = optional(c, 1);
  const Tensor bias = optional(c, 2);
  Tensor y = c.m.empty(x.sizes(), x.dtype());
  const Tensor mean = c.m.empty({rows}, DType::f32);
  const Tensor rstd = c.m.empty({rows}, DType::f32);
  c.m.record("NativeLayerNormBackward0", {x, weight, bias}, {y}, {x, weight, bias, mean, rstd},
             [rows, columns](Backward& b) {
               const Tensor grad = contiguous(b.m, b.grad());
               const Tensor input = contiguous(b.m, b.saved(0));
               layer_norm_gradients(b, rows, columns);
             });
  c.out[0] = std::move(y);
}

void rms_norm(Call& c) {
  const Tensor& x = c.in[0];
  const int64_t columns = columns_of(c);
  const int64_t rows = x.numel() / std::max<int64_t>(columns, 1);
  const Tensor weight = optional(c, 1);
  Tensor y = c.m.empty(x.sizes(), x.dtype());
  const Tensor rstd = c.m.empty({rows}, DType::f32);
  c.m.record("FusedRmsNormBackward0", {x, weight}, {y}, {x, weight, rstd}, [](Backward& b) {
    if (b.needs(0)) b.set(0, b.m.empty_like(b.saved(0)));
    if (b.needs(1)) b.set(1, b.m.empty(b.input(1).sizes, b.input(1).dtype));
  });
  c.out[0] = std::move(y);
}

// ---- group norm ----

void group_norm(Call& c) {
  const Tensor x = contiguous(c.m, c.in[0]);
  const int64_t groups = c.node.attr_int("num_groups", 1);
  const Shape per_group{x.size(0), groups};
  const Shape per_channel{x.size(0), x.size(1)};
  const Tensor weight = optional(c, 1);
  const Tensor bias = optional(c, 2);
  Tensor y = c.m.empty(x.sizes(), x.dtype());
  const Tensor mean = c.m.empty(per_group, x.dtype());
  const Tensor rstd = c.m.empty(per_group, x.dtype());
  {
    const Tensor scale = c.m.empty(per_channel, DType::f32);
    const Tensor shift = c.m.empty(per_channel, DType::f32);
  }
  c.m.record("NativeGroupNormBackward0", {x, weight, bias}, {y}, {x, weight, mean, rstd},
             [per_group, per_channel](Backward& b) {
               const Tensor grad = contiguous(b.m, b.grad());
               if (b.needs(0)) b.set(0, b.m.empty_like(b.saved(0)));
               for (const size_t i : {size_t{1}, size_t{2}}) {
                 if (b.needs(i)) b.set(i, b.m.empty(b.input(i).sizes, b.input(i).dtype));
               }
               const Tensor ds = b.m.empty(per_channel, DType::f32);
               const Tensor db = b.m.empty(per_channel, DType::f32);
               if (!b.needs(0)) return;
               const Tensor c2 = b.m.empty(per_group, DType::f32);
               const Tensor c3 = b.m.empty(per_group, DType::f32);
               const Tensor c1 = b.m.empty(per_channel, DType::f32);
             });
  c.out[0] = std::move(y);
}

// functional.py: x / (k + alpha * avg_pool(x * x)) ** beta, pooling over a padded channel dim.
void local_response_norm(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor squares = mul(c.m, x, x);
  Shape padded_sizes = x.sizes();
  padded_sizes.set(1, x.size(1) + std::max<int64_t>(c.node.attr_int("size", 5) - 1, 0));
  const Tensor padded = c.m.empty(padded_sizes, x.dtype());
  c.m.record("ConstantPadNdBackward0", {squares}, {padded}, {},
             [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.grad().dtype())); });
  const Tensor pooled = c.m.empty(x.sizes(), x.dtype());
  c.m.record("AvgPool3DBackward0", {padded}, {pooled}, {padded},
             [](Backward& b) { b.set(0, b.m.empty_like(b.saved(0))); });
  const Tensor scaled = pow_scalar(c.m, add_scalar(c.m, mul_scalar(c.m, pooled)));
  c.out[0] = div(c.m, x, scaled);
}

constexpr RuleRow kRules[] = {
    {"batch_norm", batch_norm, Autocast::none,
     "Normalization.cpp: keeps input, weight and batch statistics, in eval the input too; trace 2.15"},
    {"group_norm", group_norm, Autocast::fp32, "group_norm_kernel.cu; trace 2.15"},
    {"instance_norm", instance_norm, Autocast::none,
     "Normalization.cpp: batch_norm over [1, N*C] with repeated weights; trace 2.15"},
    {"layer_norm", layer_norm, Autocast::fp32,
     "layer_norm_kernel.cu: keeps input, weight, bias, mean, rstd; trace 2.15"},
    {"local_response_norm", local_response_norm, Autocast::none, "functional.py: local_response_norm composite"},
    {"rms_norm", rms_norm, Autocast::none, "derivatives.yaml: _fused_rms_norm keeps input, weight, rstd; trace 2.15"},
};

}  // namespace

std::span<const RuleRow> norm_rules() { return kRules; }

}  // namespace ullage::eager
