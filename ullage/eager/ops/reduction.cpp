#include "ullage/eager/ops/pointwise.h"
#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

// Under autocast these are called with dtype=float32 when the caller named none.
DType result_dtype(const Call& c) {
  const DType dtype = c.in[0].dtype();
  if (c.node.has_attr("dtype")) return c.graph_dtype();
  return c.m.autocast() && is_floating(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}

std::span<const int64_t> dims_of(const Call& c) { return c.node.attr_ints("dim"); }
bool keepdim(const Call& c) { return c.node.attr_int("keepdim", 0) != 0; }
Shape kept_shape(const Call& c) { return reduced_shape(c.in[0].sizes(), dims_of(c), true); }

Tensor full(Backward& b, const Tensor& x) { return b.m.empty_like(x); }
Tensor full(Backward& b, const Tensor& x, DType dtype) { return b.m.empty_like(x, dtype); }

// ---- sums ----

void sum(Call& c) {
  const Tensor& x = c.in[0];
  const DType dtype = result_dtype(c);
  if (dtype == x.dtype() || !is_differentiable(dtype)) {
    c.out[0] = sum_dims(c.m, x, dims_of(c), keepdim(c));
    return;
  }
  // The kernel reads the narrow type itself; backward expands the wide gradient, which is cast afterwards.
  Tensor y = reduced(c.m, x, dims_of(c), keepdim(c), dtype);
  c.m.record("SumBackward1", {x}, {y}, {}, [from = x.sizes(), kept = kept_shape(c)](Backward& b) {
    b.set(0, expand(b.m, view(b.m, b.grad(), kept), from));
  });
  c.out[0] = y;
}

void mean(Call& c) { c.out[0] = mean_dims(c.m, c.in[0], dims_of(c), keepdim(c)); }

// A scan makes its input contiguous; the gradient is a flip, a scan and a flip.
void cumsum(Call& c) {
  const Tensor& x = c.in[0];
  const DType dtype = is_differentiable(x.dtype()) ? result_dtype(c) : DType::i64;
  Tensor y = c.m.empty(x.sizes(), dtype);
  if (dtype != x.dtype() || !x.is_contiguous()) const Tensor input = c.m.empty(x.sizes(), dtype);
  c.m.record("CumsumBackward0", {x}, {y}, {}, [from = x.dtype()](Backward& b) {
    Tensor grad = to_dtype(b.m, b.grad(), from);
    Tensor flipped = full(b, grad);
    Tensor scanned = full(b, grad);
    b.set(0, full(b, grad));
    scanned = {}, flipped = {}, grad = {};
  });
  c.out[0] = y;
}

void cumprod(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(x.sizes(), is_differentiable(x.dtype()) ? result_dtype(c) : DType::i64);
  c.m.record("CumprodBackward0", {x}, {y}, {x, y}, [](Backward& b) {
    Tensor product = full(b, b.saved(1));
    Tensor zeros = full(b, b.saved(0), DType::boolean);
    {
      const Tensor any = b.m.empty({}, DType::boolean);
    }
    Tensor sum;
    {
      Tensor weighted = full(b, product);
      Tensor flipped = full(b, product);
      sum = full(b, product);
      flipped = {}, weighted = {};
    }
    b.set(0, full(b, product));
    sum = {}, zeros = {}, product = {};
  });
  c.out[0] = y;
}

void prod(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = reduced(c.m, x, dims_of(c), keepdim(c), is_differentiable(x.dtype()) ? result_dtype(c) : DType::i64);
  c.m.record("ProdBackward1", {x}, {y}, {x, y}, [kept = kept_shape(c)](Backward& b) {
    Tensor zeros = full(b, b.saved(0), DType::boolean);
    Tensor count = b.m.empty(kept, DType::i64);
    {
      const Tensor wide = full(b, b.saved(0), DType::i64);
    }
    {
      const Tensor most = b.m.empty({}, DType::i64);
    }
    Tensor product = full(b, b.saved(0));
    b.set(0, full(b, b.saved(0)));
    product = {}, count = {}, zeros = {};
  });
  c.out[0] = y;
}

// ---- softmax ----

// A contiguous input is needed; float16 to float32 is one kernel, bfloat16 is cast first.
void softmax_like(Call& c, std::string_view name, bool multiplies) {
  Tensor x = c.in[0];
  const DType dtype = result_dtype(c);
  const bool fused = x.dtype() == DType::f16 && dtype == DType::f32;
  if (!fused) x = to_dtype(c.m, x, dtype);
  Tensor y = c.m.empty(x.sizes(), dtype);
  if (!x.is_contiguous()) const Tensor input = c.m.empty(x.sizes(), x.dtype());
  c.m.record(name, {x}, {y}, {y}, [multiplies, to = x.dtype()](Backward& b) {
    const Tensor& result = b.saved(0);
    b.set(0, b.m.empty(result.sizes(), to));
    const Tensor product = multiplies ? b.m.empty(result.sizes(), result.dtype()) : Tensor();
    const Tensor grad = b.grad().is_contiguous() || multiplies ? Tensor() : b.m.empty(result.sizes(), b.grad().dtype());
  });
  c.out[0] = y;
}

void softmax(Call& c) { softmax_like(c, "SoftmaxBackward0", true); }
void log_softmax(Call& c) { softmax_like(c, "LogSoftmaxBackward0", false); }

// (self - max).exp().sum().log() + max
void logsumexp(Call& c) {
  const Tensor& x = c.in[0];
  const Shape kept = kept_shape(c);
  Tensor most = c.m.empty(kept, x.dtype());
  {
    const Tensor magnitude = c.m.empty(kept, x.dtype());
    const Tensor infinite = c.m.empty(kept, DType::boolean);
  }
  Tensor exponentials = c.m.empty_like(x);
  Tensor y = c.m.empty(reduced_shape(x.sizes(), dims_of(c), keepdim(c)), x.dtype());
  exponentials = {}, most = {};
  c.m.record("LogsumexpBackward0", {x}, {y}, {x, y}, [](Backward& b) {
    Tensor difference = full(b, b.saved(0));
    Tensor exponential = full(b, b.saved(0));
    b.set(0, full(b, b.saved(0)));
    exponential = {}, difference = {};
  });
  c.out[0] = y;
}

// ---- extremes ----

// The gradient is shared among all positions that hold the extreme: a mask, its count, the quotient.
void amax(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = reduced(c.m, x, dims_of(c), keepdim(c), x.dtype());
  c.m.record("AmaxBackward0", {x}, {y}, {x, y}, [kept = kept_shape(c)](Backward& b) {
    Tensor mask = full(b, b.saved(0), DType::boolean);
    Tensor count = b.m.empty(kept, DType::i64);
    {
      const Tensor wide = full(b, b.saved(0), DType::i64);
    }
    Tensor quotient = b.m.empty(kept, b.grad().dtype());
    b.set(0, full(b, b.saved(0)));
    quotient = {}, count = {}, mask = {};
  });
  c.out[0] = y;
}

void argmax(Call& c) { c.out[0] = reduced(c.m, c.in[0], dims_of(c), keepdim(c), DType::i64, {.bytes = 16}); }
void any(Call& c) { c.out[0] = reduced(c.m, c.in[0], dims_of(c), keepdim(c), DType::boolean, {.bytes = 1}); }

// topk and sort keep their indices only.
void record_values(Call& c, std::string_view name, Tensor values, Tensor indices) {
  c.m.record(name, {c.in[0]}, {values, indices}, {indices},
             [from = c.in[0].sizes()](Backward& b) { b.set(0, b.m.empty(from, b.grad().dtype())); });
  c.out[0] = values;
  if (c.out.size() > 1) c.out[1] = indices;
}

void topk(Call& c) {
  Tensor values = c.m.empty(c.shape(), c.in[0].dtype());
  Tensor indices = c.m.empty(c.shape(), DType::i64);
  record_values(c, "TopkBackward0", values, indices);
}

// Up to 4096 elements are sorted in place of a copy, with an index of the dim; longer dims by cub, whose buffers hold
// values and indices twice.
void sort(Call& c) {
  const Tensor& x = c.in[0];
  const int64_t length = x.rank() == 0 ? 1 : x.size(static_cast<int>(c.node.attr_int("dim", -1)));
  Tensor values = c.m.empty_like(x);
  Tensor indices = c.m.empty_like(x, DType::i64);
  if (length <= 4096) {
    const Tensor index = c.m.empty({length}, DType::i64);
  } else {
    Tensor order = c.m.empty(x.sizes(), DType::i64);
    Tensor pairs = c.m.empty(x.sizes(), DType::i64);
    const Tensor keys = c.m.empty(x.sizes(), x.dtype());
    pairs = {}, order = {};
  }
  record_values(c, "SortBackward0", values, indices);
}

// ---- spread ----

constexpr Accumulator kWelford{.bytes = 16, .values_at_once = 2};

// 2 / (N - correction) * grad * (self - self.mean()): the right side first.
Tensor var_backward(Backward& b, const Tensor& grad, const Shape& kept) {
  const Tensor& x = b.saved(0);
  Tensor mean = b.m.empty(kept, x.dtype());
  Tensor centred = full(b, x);
  Tensor scaled = b.m.empty(grad.sizes(), grad.dtype());
  Tensor out = full(b, x);
  scaled = {}, centred = {}, mean = {};
  return out;
}

void var(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = reduced(c.m, x, dims_of(c), keepdim(c), x.dtype(), kWelford);
  c.m.record("VarBackward0", {x}, {y}, {x},
             [kept = kept_shape(c)](Backward& b) { b.set(0, var_backward(b, b.grad(), kept)); });
  c.out[0] = y;
}

void std_rule(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = reduced(c.m, x, dims_of(c), keepdim(c), x.dtype(), kWelford);
  c.m.record("StdBackward0", {x}, {y}, {x, y}, [kept = kept_shape(c)](Backward& b) {
    const Tensor& result = b.saved(1);
    Tensor doubled = full(b, result);
    Tensor grad = full(b, result);
    {
      Tensor zero = full(b, result, DType::boolean);
      zero = {}, doubled = {};
    }
    b.set(0, var_backward(b, grad, kept));
  });
  c.out[0] = y;
}

// p = 2: grad * (self / norm).masked_fill_(norm == 0, 0); otherwise a sign instead of the quotient and no mask.
void norm(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = reduced(c.m, x, dims_of(c), keepdim(c), result_dtype(c));
  const bool euclidean = c.node.attr_float("p", 2) == 2;
  c.m.record("LinalgVectorNormBackward0", {x}, {y}, {x, y}, [euclidean, wide = y.dtype()](Backward& b) {
    Tensor direction = full(b, b.saved(0), wide);
    Tensor zero = euclidean ? full(b, b.saved(1), DType::boolean) : Tensor();
    b.set(0, full(b, b.saved(0), wide));
    zero = {}, direction = {};
  });
  c.out[0] = y;
}

constexpr RuleRow kRules[] = {
    {"all", any, Autocast::none, "ReduceOps.cpp: all; trace 2.15"},
    {"amax", amax, Autocast::none, "FunctionsManual.cpp: scale_grad_by_count; trace 2.15"},
    {"amin", amax, Autocast::none, "FunctionsManual.cpp: scale_grad_by_count; trace 2.15"},
    {"any", any, Autocast::none, "ReduceOps.cpp: any; trace 2.15"},
    {"argmax", argmax, Autocast::none, "ReduceOps.cpp: argmax; trace 2.15"},
    {"argmin", argmax, Autocast::none, "ReduceOps.cpp: argmin; trace 2.15"},
    {"cumprod", cumprod, Autocast::fp32_result, "FunctionsManual.cpp: cumprod_backward; trace 2.15"},
    {"cumsum", cumsum, Autocast::fp32_result, "FunctionsManual.cpp: cumsum_backward; trace 2.15"},
    {"log_softmax", log_softmax, Autocast::fp32_result, "SoftMax.cu: log_softmax; trace 2.15"},
    {"logsumexp", logsumexp, Autocast::fp32, "ReduceOps.cpp: logsumexp; trace 2.15"},
    {"mean", mean, Autocast::none, "FunctionsManual.cpp: mean_backward; trace 2.15"},
    {"norm", norm, Autocast::fp32_result, "FunctionsManual.cpp: linalg_vector_norm_backward; trace 2.15"},
    {"prod", prod, Autocast::fp32_result, "FunctionsManual.cpp: prod_backward; trace 2.15"},
    {"softmax", softmax, Autocast::fp32_result, "SoftMax.cu: softmax; trace 2.15"},
    {"sort", sort, Autocast::none, "Sort.cpp: sort_stable; trace 2.15"},
    {"std", std_rule, Autocast::none, "FunctionsManual.cpp: std_backward; trace 2.15"},
    {"sum", sum, Autocast::fp32_result, "FunctionsManual.cpp: sum_backward; trace 2.15"},
    {"topk", topk, Autocast::none, "TensorTopK.cu; trace 2.15"},
    {"var", var, Autocast::none, "FunctionsManual.cpp: var_backward; trace 2.15"},
};

}  // namespace

std::span<const RuleRow> reduction_rules() { return kRules; }

}  // namespace ullage::eager
