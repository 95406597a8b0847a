// linear, matmul and their kin: how ATen folds operands of any rank into mm, mv and bmm (LinearAlgebra.cpp,
// Linear.cpp).
#include <algorithm>

#include "ullage/eager/ops/products.h"
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

Shape joined(std::span<const int64_t> head, std::initializer_list<int64_t> tail) {
  Shape out(head);
  for (const int64_t size : tail) out.push(size);
  return out;
}

// should_fold: may a product of a tensor of rank 3 or more with a vector or matrix run as one mm over all leading dims?
bool folds(const Tensor& a, const Tensor& b) {
  const bool a_larger = a.rank() >= b.rank();
  const Tensor& large = a_larger ? a : b;
  const Tensor& small = a_larger ? b : a;
  if (large.rank() < 3 || small.rank() > 2) return false;
  if (small.requires_grad()) return true;  // a copy now rather than a batch of gradients later
  if (a.rank() == 2) return false;
  if (large.numel() == 0) return true;
  Shape sizes = large.sizes();
  Strides strides = large.strides();
  if (!a_larger) {
    const int last = sizes.rank() - 1;
    sizes.set(last, large.size(-2)), sizes.set(last - 1, large.size(-1));
    strides.set(last, large.strides()[-2]), strides.set(last - 1, large.strides()[-1]);
  }
  for (int d = 0; d < sizes.rank() - 2; ++d) {
    if (strides[d] != strides[d + 1] * sizes[d + 1]) return false;
  }
  return true;
}

Tensor folded(Machine& m, const Tensor& a, const Tensor& b) {
  const bool swapped = b.rank() > a.rank();
  const Tensor large = swapped ? transpose(m, b, -2, -1) : a;
  const Tensor small = !swapped ? b : a.rank() == 2 ? transpose(m, a, 0, 1) : a;
  Shape out_sizes(large.sizes().sizes().first(static_cast<size_t>(large.rank() - 1)));
  const int64_t rows = out_sizes.numel();
  const Tensor flat = reshape(m, large, {rows, large.size(-1)});
  if (small.rank() == 1) return view(m, mv(m, flat, small), out_sizes);
  out_sizes.push(small.size(1));
  Tensor out = view(m, mm(m, flat, small), out_sizes);
  return swapped ? contiguous(m, transpose(m, out, -2, -1)) : out;
}

Tensor batched(Machine& m, const Tensor& a, const Tensor& b) {
  if (a.rank() == 3 && b.rank() == 3 && a.size(0) != b.size(0)) {
    if (a.size(0) == 1 && a.requires_grad()) return matmul(m, squeeze(m, a, 0), b);
    if (b.size(0) == 1 && b.requires_grad()) return matmul(m, a, squeeze(m, b, 0));
  }
  const auto leading = [](const Tensor& t) {
    return t.sizes().sizes().first(static_cast<size_t>(std::max(t.rank() - 2, 0)));
  };
  const int64_t n = a.rank() > 1 ? a.size(-2) : 1;
  const int64_t k = a.size(-1);
  const int64_t p = b.rank() > 1 ? b.size(-1) : 1;
  const Result<Shape> batch = broadcast(Shape(leading(a)), Shape(leading(b)));
  check(batch.has_value(), "matmul of shapes that do not broadcast");
  const int64_t count = batch->numel();
  const Tensor left = reshape(m, expand(m, a, joined(batch->sizes(), {n, k})), {count, n, k});
  Tensor right;
  if (b.rank() == 1) {
    right = unsqueeze(m, reshape(m, expand(m, b, joined(batch->sizes(), {k})), {count, k}), 2);
  } else {
    right = reshape(m, expand(m, b, joined(batch->sizes(), {k, p})), {count, k, p});
  }
  Shape out_sizes = *batch;
  if (a.rank() > 1) out_sizes.push(n);
  if (b.rank() > 1) out_sizes.push(p);
  Tensor out = bmm(m, left, right);
  if (b.rank() == 1) out = squeeze(m, out, -1);
  return view(m, out, out_sizes);
}

// output.add_(bias)
Tensor add_in_place(Machine& m, const Tensor& out, const Tensor& bias) {
  Tensor result = m.view_of(out, out.sizes(), out.strides());
  m.record("AddBackward0", {out, bias}, {result}, {}, [](Backward& b) {
    b.set(1, b.grad());
    b.set(0, b.grad());
  });
  return result;
}

void matmul_rule(Call& c) { c.out[0] = matmul(c.m, c.in[0], c.in[1]); }
void linear_rule(Call& c) { c.out[0] = linear(c.m, c.in[0], c.in[1], c.in.size() > 2 ? c.in[2] : Tensor()); }
void bmm_rule(Call& c) { c.out[0] = bmm(c.m, c.in[0], c.in[1]); }

AddmmFactors factors_of(const Call& c) {
  return {.alpha_is_one = c.node.attr_float("alpha", 1.0) == 1.0, .beta_is_one = c.node.attr_float("beta", 1.0) == 1.0};
}
void addmm_rule(Call& c) { c.out[0] = addmm(c.m, c.in[0], c.in[1], c.in[2], factors_of(c)); }
void baddbmm_rule(Call& c) { c.out[0] = baddbmm(c.m, c.in[0], c.in[1], c.in[2], factors_of(c)); }

// A list of tensors is cast from the first to the last, other than arguments.
void einsum_rule(Call& c) {
  if (c.m.autocast()) {
    for (Tensor& t : c.in) t = c.m.autocast_lower(t);
  }
  c.out[0] = einsum(c.m, c.node.attr_text("equation"), c.in);
}

constexpr RuleRow kRules[] = {
    {"addmm", addmm_rule, Autocast::lower, "derivatives.yaml: addmm; Blas.cpp; trace 2.15"},
    {"baddbmm", baddbmm_rule, Autocast::lower, "derivatives.yaml: baddbmm; trace 2.15"},
    {"bmm", bmm_rule, Autocast::lower, "derivatives.yaml: bmm; trace 2.15"},
    {"einsum", einsum_rule, Autocast::none, "Linear.cpp: einsum as permute, reshape and bmm; trace 2.15"},
    {"linear", linear_rule, Autocast::lower, "Linear.cpp: linear as t and addmm, or matmul and add_; trace 2.15"},
    {"matmul", matmul_rule, Autocast::lower, "LinearAlgebra.cpp: matmul as mm, mv or bmm; trace 2.15"},
};

}  // namespace

Tensor matmul(Machine& m, const Tensor& a, const Tensor& b) {
  if (a.rank() == 1 && b.rank() == 1) return dot(m, a, b);
  if (a.rank() == 2 && b.rank() == 1) return mv(m, a, b);
  if (a.rank() == 1 && b.rank() == 2) return squeeze(m, mm(m, unsqueeze(m, a, 0), b), 0);
  if (a.rank() == 2 && b.rank() == 2) return mm(m, a, b);
  return folds(a, b) ? folded(m, a, b) : batched(m, a, b);
}

Tensor linear(Machine& m, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor w = transpose(m, weight, 0, 1);
  if (bias.defined() && x.rank() == 2) return addmm(m, bias, x, w);
  if (bias.defined() && x.is_contiguous()) {
    const int64_t rows = x.numel() / std::max<int64_t>(x.size(-1), 1);
    Shape out_sizes = x.sizes();
    out_sizes.set(-1, weight.size(0));
    return view(m, addmm(m, bias, view(m, x, {rows, x.size(-1)}), w), out_sizes);
  }
  const Tensor out = matmul(m, x, w);
  return bias.defined() ? add_in_place(m, out, bias) : out;
}

std::span<const RuleRow> matmul_rules() { return kRules; }

}  // namespace ullage::eager
