// scaled_dot_product_attention: which kernel runs on which card, and what each keeps and makes (sdp_utils.cpp,
// attention.cu, attention_backward.cu, flash_api.cpp; 2.15). q, k, v are [B, H, S, d].
#include "ullage/eager/ops/pointwise.h"
#include "ullage/eager/ops/products.h"
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

enum class Kernel : uint8_t { flash, efficient, cudnn, math };

struct Attention {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_dim = 1, value_dim = 1;
  double dropout = 0;
  bool masked = false;
};

int64_t ceil_to(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

Kernel kernel_of(const Machine& m, DType dtype, const Attention& a) {
  const int capability = m.options().compute_capability;
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  if (half && !a.masked && capability >= 80 && a.head_dim <= 256)
    return capability >= 90 ? Kernel::cudnn : Kernel::flash;
  const int64_t alignment = half ? 8 : 4;  // elements that a vector load of the efficient kernel takes
  const bool fits = a.head_dim % alignment == 0 && a.value_dim % alignment == 0 && dtype != DType::f64;
  if (fits && (dtype != DType::bf16 || capability >= 80)) return Kernel::efficient;
  return Kernel::math;
}

// Laid out [B, S, H, d] and seen as [B, H, S, d]: what the fused kernels return.
Tensor heads_inside(Machine& m, const Shape& bhsd, DType dtype) {
  const Tensor dense = m.empty({bhsd[0], bhsd[2], bhsd[1], bhsd[3]}, dtype);
  const Strides& s = dense.strides();
  return m.view_of(dense, bhsd, {s[0], s[2], s[1], s[3]});
}

bool is_heads_inside(const Tensor& t) {
  return eager::is_contiguous({t.size(0), t.size(2), t.size(1), t.size(3)},
                              {t.strides()[0], t.strides()[2], t.strides()[1], t.strides()[3]});
}

Tensor dense_heads_inside(Machine& m, const Tensor& t) {
  return is_heads_inside(t) ? t : heads_inside(m, t.sizes(), t.dtype());
}

// One multiply-add per score and head dim for q·k, one per score and value dim for the product with v.
int64_t forward_flops(const Attention& a) {
  return 2 * a.batch * a.heads * a.queries * a.keys * (a.head_dim + a.value_dim);
}

// attention_backward.cu: the workspace of accumulators for the gradient of q, a block of rows at a time.
int64_t efficient_workspace(const Attention& a) {
  const int64_t rows = a.head_dim <= 128 ? 64 : 32;
  const int64_t padded = a.head_dim <= 64 ? 64 : a.head_dim <= 128 ? 128 : ceil_to(a.head_dim, 64);
  const int64_t blocks = ceil_to(a.queries, rows) / rows;
  return 4 * a.batch * a.heads * (ceil_to(a.queries, 64) * padded + 4 * blocks);
}

void efficient(Call& c, const Attention& a, const Tensor& mask) {
  const Tensor &q = c.in[0], &k = c.in[1], &v = c.in[2];
  const bool with_dropout = a.dropout > 0;
  const Tensor seed = with_dropout ? Tensor() : c.m.empty({}, DType::i64);
  const Tensor offset = with_dropout ? Tensor() : c.m.empty({}, DType::i64);
  Tensor out = heads_inside(c.m, {a.batch, a.heads, a.queries, a.value_dim}, q.dtype());
  const bool records = c.m.records({&q, &k, &v});
  const Tensor lse = c.m.empty({a.batch, a.heads, records ? ceil_to(a.queries, 32) : 0}, DType::f32);
  c.m.record("ScaledDotProductEfficientAttentionBackward0", {q, k, v}, {out}, {q, k, v, mask, out, lse, seed, offset},
             [a](Backward& b) {
               const DType dtype = b.saved(0).dtype();
               Tensor dq = heads_inside(b.m, b.saved(0).sizes(), dtype);
               Tensor dk = heads_inside(b.m, b.saved(1).sizes(), dtype);
               Tensor dv = heads_inside(b.m, b.saved(2).sizes(), dtype);
               Tensor expanded_k, expanded_v;
               if (a.kv_heads != a.heads) {
                 const Shape all{a.batch, a.heads, a.keys, a.head_dim};
                 expanded_k = b.m.empty(all, dtype);
                 expanded_v = b.m.empty(all, dtype);
               }
               Tensor delta;
               if (dtype == DType::f32) {
                 // delta = (grad * out).sum(-1), made contiguous
                 const Tensor product = b.m.empty({a.batch, a.heads, a.queries, a.value_dim}, DType::f32);
                 const Tensor sums = b.m.empty({a.batch, a.heads, a.queries}, DType::f32);
                 delta = b.m.empty({a.batch, a.heads, a.queries}, DType::f32);
               } else {
                 delta = b.m.empty({a.batch, a.heads, a.queries}, DType::f32);
               }
               const Tensor workspace = b.m.workspace(Bytes(efficient_workspace(a)));
               b.m.count_flops(forward_flops(a) * 5 / 2);
               b.set(0, std::move(dq));
               b.set(1, std::move(dk));
               b.set(2, std::move(dv));
             });
  c.out[0] = std::move(out);
}

// flash_bwd.cpp: gradients, the row sums padded to 128 rows, and a float32 accumulator for the gradient of q.
void flash_gradients(Backward& b, const Attention& a) {
  const DType dtype = b.saved(0).dtype();
  const Tensor grad = dense_heads_inside(b.m, b.grad());
  const Tensor out = dense_heads_inside(b.m, b.saved(3));
  Tensor dq = b.m.empty_like(b.saved(0));
  Tensor dk = b.m.empty_like(b.saved(1));
  Tensor dv = b.m.empty_like(b.saved(2));
  const Tensor sums = b.m.workspace(Bytes(4 * a.batch * a.heads * ceil_to(a.queries, 128)));
  const Tensor accumulator =
      b.m.workspace(Bytes(4 * a.batch * a.heads * ceil_to(a.queries, 128) * ceil_to(a.head_dim, 32)));
  Tensor expanded_k, expanded_v;
  if (a.kv_heads != a.heads) {
    const Shape all{a.batch, a.heads, a.keys, a.head_dim};
    expanded_k = b.m.empty(all, dtype);
    expanded_v = b.m.empty(all, dtype);
  }
  b.m.count_flops(forward_flops(a) * 5 / 2);
  b.set(0, std::move(dq));
  b.set(1, std::move(dk));
  b.set(2, std::move(dv));
}

// flash_api.cpp makes results like the operand they belong to, so nn.MultiheadAttention's (length, batch, heads) order
// survives and the copy after it is a view.
void flash(Call& c, const Attention& a) {
  const Tensor &q = c.in[0], &k = c.in[1], &v = c.in[2];
  Tensor out = c.m.empty_like(q);
  const Tensor lse = c.m.empty({a.batch, a.heads, a.queries}, DType::f32);
  const Tensor rng_state = c.m.empty({2}, DType::i64);
  const Tensor unused = c.m.empty({}, DType::i64);
  c.m.record("ScaledDotProductFlashAttentionBackward0", {q, k, v}, {out}, {q, k, v, out, lse, rng_state, unused},
             [a](Backward& b) { flash_gradients(b, a); });
  c.out[0] = std::move(out);
}

void cudnn(Call& c, const Attention& a) {
  const Tensor &q = c.in[0], &k = c.in[1], &v = c.in[2];
  constexpr int64_t kPlan = 256;  // trace 2.15 on sm90: workspace of the forward plan
  const Tensor seed = c.m.empty({}, DType::i64);
  const Tensor offset = c.m.empty({}, DType::i64);
  // MHA.cpp gives results the layout of the operand they belong to.
  Tensor out = a.value_dim == a.head_dim ? c.m.empty_like(q)
                                         : heads_inside(c.m, {a.batch, a.heads, a.queries, a.value_dim}, q.dtype());
  const Tensor lse = c.m.empty({a.batch, a.heads, a.queries, 1}, DType::f32);
  {
    const Tensor plan = c.m.workspace(Bytes(kPlan));
  }
  c.m.record("ScaledDotProductCudnnAttentionBackward0", {q, k, v}, {out}, {q, k, v, out, lse, seed, offset},
             [a](Backward& b) {
               const Tensor grad = dense_heads_inside(b.m, b.grad());
               Tensor dq = b.m.empty_like(b.saved(0));
               Tensor dk = b.m.empty_like(b.saved(1));
               Tensor dv = b.m.empty_like(b.saved(2));
               const int64_t rows = a.batch * a.heads * a.queries;
               const Tensor workspace = b.m.workspace(Bytes(4 * rows * a.head_dim + 4 * rows + kPlan));
               b.m.count_flops(forward_flops(a) * 5 / 2);
               b.set(0, std::move(dq));
               b.set(1, std::move(dk));
               b.set(2, std::move(dv));
             });
  c.out[0] = std::move(out);
}

// _scaled_dot_product_attention_math: both operands scaled by sqrt(scale), half inputs upcast to float32 (2.5 and
// later).
void math(Call& c, const Attention& a, const Tensor& mask) {
  const DType dtype = c.in[0].dtype();
  const bool upcast = dtype == DType::f16 || dtype == DType::bf16;
  const auto wide = [&](const Tensor& t) { return upcast ? to_dtype(c.m, t, DType::f32) : t; };
  const Tensor q = mul_scalar(c.m, wide(c.in[0]));
  const Tensor k = mul_scalar(c.m, wide(c.in[1]));
  const Tensor v = wide(c.in[2]);
  Tensor scores = matmul(c.m, q, transpose(c.m, k, -2, -1));
  if (mask.defined()) scores = add(c.m, scores, mask);
  Tensor probabilities = c.m.empty_like(scores);
  c.m.record("SoftmaxBackward0", {scores}, {probabilities}, {probabilities}, [](Backward& b) {
    Tensor grad = b.m.empty_like(b.grad());
    const Tensor product = b.m.empty_like(b.grad());
    b.set(0, std::move(grad));
  });
  scores = {};
  if (a.dropout > 0 && c.m.grad_enabled()) {
    const Tensor drop_mask = c.m.empty_like(probabilities, DType::boolean);
    Tensor dropped = c.m.empty_like(probabilities);
    c.m.record("NativeDropoutBackward0", {probabilities}, {dropped}, {drop_mask},
               [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
    probabilities = std::move(dropped);
  }
  Tensor out = matmul(c.m, probabilities, v);
  c.out[0] = upcast ? to_dtype(c.m, out, dtype) : out;
}

// A bool mask becomes an additive one in q's dtype; two scalars on the way.
Tensor additive(Machine& m, const Tensor& mask, DType dtype) {
  if (!mask.defined() || mask.dtype() != DType::boolean) return mask;
  const Tensor zero = m.empty({}, dtype);
  const Tensor minus_infinity = m.empty({}, dtype);
  return m.empty(mask.sizes(), dtype);
}

void attention(Call& c) {
  const Tensor &q = c.in[0], &k = c.in[1], &v = c.in[2];
  const int rank = q.rank();
  Attention a;
  a.batch = 1;
  for (int d = 0; d < rank - 3; ++d) a.batch *= q.size(d);
  a.heads = rank >= 3 ? q.size(-3) : 1;
  a.kv_heads = rank >= 3 ? k.size(-3) : 1;
  a.queries = q.size(-2);
  a.keys = k.size(-2);
  a.head_dim = q.size(-1);
  a.value_dim = v.size(-1);
  a.dropout = c.node.attr_float("dropout_p", 0);
  const Tensor given = c.in.size() > 3 ? c.in[3] : Tensor();
  a.masked = given.defined();
  const Kernel kernel = rank == 4 ? kernel_of(c.m, q.dtype(), a) : Kernel::math;
  if (kernel != Kernel::math) c.m.count_flops(forward_flops(a));
  switch (kernel) {
    case Kernel::flash:
      return flash(c, a);
    case Kernel::cudnn:
      return cudnn(c, a);
    case Kernel::efficient:
      return efficient(c, a, additive(c.m, given, q.dtype()));
    case Kernel::math:
      return math(c, a, additive(c.m, given, q.dtype()));
  }
}

constexpr RuleRow kRules[] = {
    {"scaled_dot_product_attention", attention, Autocast::lower,
     "sdp_utils.cpp: flash for half without a mask (cuDNN on sm90), else memory-efficient, else math; traces 2.15"},
};

}  // namespace

std::span<const RuleRow> attention_rules() { return kRules; }

}  // namespace ullage::eager
