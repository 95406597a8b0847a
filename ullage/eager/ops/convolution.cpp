// convolution: which implementation ATen picks for it, and the buffers that each of them makes (Convolution.cpp,
// ConvShared.cpp, DepthwiseConv2d.cu, ConvolutionMM2d.cu). A 1-d convolution runs as a 2-d one on views.
#include <array>

#include "ullage/eager/aten.h"
#include "ullage/eager/ops/deform_conv2d.h"
#include "ullage/eager/ops/products.h"
#include "ullage/eager/rules.h"
#include "ullage/eager/workspace.h"

namespace ullage::eager {
namespace {

enum class Backend : uint8_t {
  cudnn,
  depthwise2d,  // ATen's own kernel: weight gradient first
  depthwise3d,
  columns,  // slow_conv: im2col and one GEMM for every sample
};

struct Convolution {
  ConvProblem problem;
  Backend backend = Backend::cudnn;
  int64_t macs = 0;
  Shape bias_dims;  // all but the channels
};

MemoryFormat format_of(const Tensor& t) { return suggested_format(t.sizes(), t.strides()); }

// cudnn_conv_suggest_memory_format: one channels_last operand is enough.
MemoryFormat common_format(const Tensor& a, const Tensor& b) {
  const bool channels_last = format_of(a) == MemoryFormat::channels_last || format_of(b) == MemoryFormat::channels_last;
  return channels_last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

Tensor empty(Machine& m, const Shape& sizes, DType dtype, MemoryFormat format) {
  const bool channels_last = format == MemoryFormat::channels_last && (sizes.rank() == 4 || sizes.rank() == 5);
  return m.empty_strided(sizes, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes), dtype);
}

std::array<int64_t, 3> spatial(std::span<const int64_t> values, int dims, int64_t otherwise) {
  std::array<int64_t, 3> out{otherwise, otherwise, otherwise};
  for (int d = 0; d < dims && !values.empty(); ++d) {
    const size_t from = values.size() == 1 ? 0 : static_cast<size_t>(d);
    if (from < values.size()) out[size_t{3} - static_cast<size_t>(dims) + static_cast<size_t>(d)] = values[from];
  }
  return out;
}

ConvProblem problem_of(const Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& w = c.in[1];
  const int dims = x.rank() - 2;
  const size_t skip = 2;
  ConvProblem p;
  p.dtype = x.dtype();
  p.allow_tf32 = c.m.options().allow_tf32;
  p.batch = x.size(0);
  p.in_channels = x.size(1);
  p.out_channels = c.shape().rank() > 1 ? c.shape()[1] : 1;
  p.input = spatial(x.sizes().sizes().subspan(skip), dims, 1);
  p.output = spatial(c.shape().sizes().subspan(skip), dims, 1);
  p.kernel = spatial(w.sizes().sizes().subspan(skip), dims, 1);
  p.stride = spatial(c.node.attr_ints("stride"), dims, 1);
  p.pad = spatial(c.node.attr_ints("padding"), dims, 0);
  p.dilation = spatial(c.node.attr_ints("dilation"), dims, 1);
  p.groups = c.node.attr_int("groups", 1);
  p.transposed = c.node.attr_int("transposed", 0) != 0;
  p.channels_last = common_format(x, w) == MemoryFormat::channels_last;
  p.spatial_dims = dims;
  p.compute_capability = c.m.options().compute_capability;
  p.sm_count = c.m.options().sm_count;
  return p;
}

// check_cudnn_depthwise_workload_with_filter: where cuDNN is faster than the kernel of ATen.
bool cudnn_wins_depthwise(const ConvProblem& p) {
  if (p.input[1] == 1 && p.stride[2] == 1) return true;
  const int64_t filter = p.kernel[2];
  if (p.kernel[1] != filter || (filter != 1 && filter != 3 && filter != 5)) return false;
  const int64_t width = p.input[2];
  if (width < 7) return false;
  if (p.stride[2] == 1) return true;
  if (p.stride[2] != 2) return false;
  if (p.batch == 1) return filter != 1 || width <= 28;
  if (filter == 1) return p.batch <= 16 && p.in_channels >= 128 && width <= 7;
  return p.in_channels >= 512 || (p.in_channels >= 256 && width >= 28);
}

Backend backend_of(const Machine& m, const ConvProblem& p) {
  const bool cudnn = m.options().cudnn && (p.dtype != DType::bf16 || p.compute_capability >= 80);
  const bool depthwise =
      !p.transposed && p.groups > 1 && p.groups == p.in_channels && p.out_channels % p.in_channels == 0;
  if (!depthwise) return cudnn ? Backend::cudnn : Backend::columns;
  if (cudnn && p.channels_last) return Backend::cudnn;
  const bool dilated = p.dilation != std::array<int64_t, 3>{1, 1, 1};
  const bool square = p.stride[1] == p.stride[2] || p.input[1] == 1;
  if (cudnn && p.dtype == DType::f16 && p.spatial_dims < 3 && !dilated && square && p.in_channels >= 32 &&
      cudnn_wins_depthwise(p)) {
    return Backend::cudnn;
  }
  return p.spatial_dims == 3 ? Backend::depthwise3d : Backend::depthwise2d;
}

Tensor cudnn_memory(Machine& m, const ConvProblem& problem, Direction direction) {
  const WorkspaceOracle* oracle = m.options().workspace;
  return oracle ? m.workspace(oracle->convolution(problem, direction).expected) : Tensor();
}

// One sample's patches as a matrix; a 1x1 convolution of stride 1 uses the sample itself in forward.
Shape column_sizes(const ConvProblem& p) {
  int64_t rows = p.in_channels;
  int64_t columns = 1;
  for (size_t d = 0; d < 3; ++d) rows *= p.kernel[d], columns *= p.output[d];
  return {rows, columns};
}

void gemm_per_sample(Machine& m, const ConvProblem& p) {
  for (int64_t i = 0; i < p.batch; ++i) const Tensor memory = gemm_memory(m);
}

Tensor forward(Machine& m, const Convolution& conv, const Tensor& x, const Tensor& w, const Shape& sizes) {
  m.count_flops(2 * conv.macs);
  const NoGrad off(m);
  if (conv.backend != Backend::cudnn) {
    const Tensor input = contiguous(m, x);
    const Tensor weight = contiguous(m, w);
    Tensor out = m.empty(sizes, x.dtype());
    if (conv.backend == Backend::columns) {
      const ConvProblem& p = conv.problem;
      const std::array<int64_t, 3> ones{1, 1, 1};
      const bool direct = p.kernel == ones && p.stride == ones && p.pad == std::array<int64_t, 3>{};
      const Tensor columns = direct ? Tensor() : m.empty(column_sizes(p), x.dtype());
      gemm_per_sample(m, p);
    }
    return out;
  }
  const MemoryFormat format = common_format(x, w);
  const Tensor input = contiguous(m, x, format);
  Tensor out = empty(m, sizes, x.dtype(), format);
  const Tensor weight = contiguous(m, w, format);
  const Tensor memory = cudnn_memory(m, conv.problem, Direction::forward);
  return out;
}

void cudnn_backward(Backward& b, const Convolution& conv) {
  Machine& m = b.m;
  const Tensor& x = b.saved(0);
  const Tensor& w = b.saved(1);
  const Tensor input = b.needs(1) ? contiguous(m, x, common_format(x, w)) : x;
  Tensor grad = b.grad();
  if (format_of(grad) != format_of(input)) grad = contiguous(m, grad, format_of(input));
  if (b.needs(0)) {
    const MemoryFormat format = common_format(grad, w);
    b.set(0, empty(m, x.sizes(), grad.dtype(), format));
    const Tensor weight = contiguous(m, w, format);
    const Tensor dense = contiguous(m, grad, format);
    const Tensor memory = cudnn_memory(m, conv.problem, Direction::data_gradient);
    m.count_flops(2 * conv.macs);
  }
  if (b.needs(1)) {
    const MemoryFormat format = common_format(input, grad);
    const Tensor dense = contiguous(m, grad, format);
    const Tensor dense_input = contiguous(m, input, format);
    b.set(1, empty(m, w.sizes(), grad.dtype(), format));
    const Tensor memory = cudnn_memory(m, conv.problem, Direction::weight_gradient);
    m.count_flops(2 * conv.macs);
  }
}

void depthwise_backward(Backward& b, const Convolution& conv) {
  const bool weight_first = conv.backend == Backend::depthwise2d;
  const Tensor grad = contiguous(b.m, b.grad());
  for (const size_t i : {weight_first ? size_t{1} : size_t{0}, weight_first ? size_t{0} : size_t{1}}) {
    if (!b.needs(i)) continue;
    b.set(i, b.m.empty(b.saved(i).sizes(), grad.dtype()));
    b.m.count_flops(2 * conv.macs);
  }
}

void columns_backward(Backward& b, const Convolution& conv) {
  Machine& m = b.m;
  const DType dtype = b.saved(0).dtype();
  if (b.needs(0)) b.set(0, m.empty(b.saved(0).sizes(), dtype));
  const Tensor columns = m.empty(column_sizes(conv.problem), dtype);
  if (b.needs(0)) {
    gemm_per_sample(m, conv.problem);
    m.count_flops(2 * conv.macs);
  }
  if (b.needs(2)) b.set(2, sum_dims(m, b.grad(), conv.bias_dims.sizes(), false));
  if (b.needs(1)) {
    b.set(1, m.empty(b.saved(1).sizes(), dtype));
    gemm_per_sample(m, conv.problem);
    m.count_flops(2 * conv.macs);
  }
}

void backward(Backward& b, const Convolution& conv) {
  switch (conv.backend) {
    case Backend::cudnn:
      cudnn_backward(b, conv);
      break;
    case Backend::columns:
      columns_backward(b, conv);
      return;
    case Backend::depthwise2d:
    case Backend::depthwise3d:
      depthwise_backward(b, conv);
      break;
  }
  if (b.needs(2)) b.set(2, sum_dims(b.m, b.grad(), conv.bias_dims.sizes(), false));
}

void convolution(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& w = c.in[1];
  Convolution conv;
  conv.problem = problem_of(c);
  conv.backend = backend_of(c.m, conv.problem);
  const int64_t outputs_of_weight = conv.problem.transposed ? x.numel() : c.shape().numel();
  conv.macs = saturating_mul(outputs_of_weight, w.numel() / std::max<int64_t>(w.size(0), 1));
  for (int d = 0; d < x.rank(); ++d) {
    if (d != 1) conv.bias_dims.push(d);
  }
  Tensor out = forward(c.m, conv, x, w, c.shape());
  const Tensor bias = c.in.size() > 2 ? c.in[2] : Tensor();
  c.m.record("ConvolutionBackward0", {x, w, bias}, {out}, {x, w}, [conv](Backward& b) { backward(b, conv); });
  c.out[0] = std::move(out);
}

constexpr RuleRow kRules[] = {
    {"convolution", convolution, Autocast::lower,
     "derivatives.yaml: convolution keeps input and weight; Convolution.cpp; trace 2.15"},
    {"deform_conv2d", deform_conv2d, Autocast::none, "torchvision deform_conv2d_kernel.cu; trace 0.29"},
};

}  // namespace

std::span<const RuleRow> convolution_rules() { return kRules; }

}  // namespace ullage::eager
