#include "ullage/eager/ops/pointwise.h"

#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

constexpr Unary kUnary[] = {
    {"abs", "AbsBackward0", Keeps::input, 1, "derivatives.yaml: grad * self.sgn(); trace 2.15"},
    {"acos", "AcosBackward0", Keeps::input, 5, "derivatives.yaml: grad * -((-self * self + 1).rsqrt())",
     Autocast::fp32},
    {"acosh", "AcoshBackward0", Keeps::input, 3, "derivatives.yaml: grad * (self.pow(2) - 1).rsqrt(); trace 2.15"},
    {"asin", "AsinBackward0", Keeps::input, 4, "derivatives.yaml: grad * (-self * self + 1).rsqrt()", Autocast::fp32},
    {"asinh", "AsinhBackward0", Keeps::input, 3, "derivatives.yaml: grad * (self.pow(2) + 1).rsqrt(); trace 2.15"},
    {"atan", "AtanBackward0", Keeps::input, 2, "derivatives.yaml: grad / (self * self + 1); trace 2.15"},
    {"atanh", "AtanhBackward0", Keeps::input, 3, "derivatives.yaml: grad * 1 / (1 - self.pow(2)); trace 2.15"},
    {"ceil", "CeilBackward0", Keeps::nothing, 0, "derivatives.yaml: zeros_like(grad); trace 2.15"},
    {"cos", "CosBackward0", Keeps::input, 2, "derivatives.yaml: grad * -self.sin(); trace 2.15"},
    {"cosh", "CoshBackward0", Keeps::input, 1, "derivatives.yaml: grad * self.sinh()", Autocast::fp32},
    {"erf", "ErfBackward0", Keeps::input, 4, "derivatives.yaml: 2 / sqrt(pi) * exp(-(self.pow(2))) * grad; trace 2.15"},
    {"exp", "ExpBackward0", Keeps::result, 0, "derivatives.yaml: grad * result; trace 2.15", Autocast::fp32},
    {"expm1", "Expm1Backward0", Keeps::result, 1, "derivatives.yaml: grad * (result + 1); trace 2.15", Autocast::fp32},
    {"floor", "FloorBackward0", Keeps::nothing, 0, "derivatives.yaml: zeros_like(grad); trace 2.15"},
    {"log", "LogBackward0", Keeps::input, 0, "derivatives.yaml: grad.div(self); trace 2.15", Autocast::fp32},
    {"log1p", "Log1PBackward0", Keeps::input, 1, "derivatives.yaml: grad / (self + 1); trace 2.15", Autocast::fp32},
    {"neg", "NegBackward0", Keeps::nothing, 0, "derivatives.yaml: grad.neg(); trace 2.15"},
    {"reciprocal", "ReciprocalBackward0", Keeps::result, 2, "derivatives.yaml: -grad * (result * result)",
     Autocast::fp32},
    {"round", "RoundBackward0", Keeps::nothing, 0, "derivatives.yaml: zeros_like(grad); trace 2.15"},
    {"rsqrt", "RsqrtBackward0", Keeps::result, 2, "derivatives.yaml: -0.5 * grad * result.pow(3)", Autocast::fp32},
    {"sign", "SignBackward0", Keeps::nothing, 0, "derivatives.yaml: zeros_like(grad); trace 2.15"},
    {"sin", "SinBackward0", Keeps::input, 1, "derivatives.yaml: grad * self.cos(); trace 2.15"},
    {"sinh", "SinhBackward0", Keeps::input, 1, "derivatives.yaml: grad * self.cosh()", Autocast::fp32},
    {"sqrt", "SqrtBackward0", Keeps::result, 1, "derivatives.yaml: grad / (2 * result); trace 2.15"},
    {"tan", "TanBackward0", Keeps::result, 2, "derivatives.yaml: grad * (1 + result.pow(2))", Autocast::fp32},
    {"trunc", "TruncBackward0", Keeps::nothing, 0, "derivatives.yaml: zeros_like(grad); trace 2.15"},
};

constexpr const Unary& row_of(std::string_view op) {
  for (const Unary& row : kUnary) {
    if (row.op == op) return row;
  }
  return kUnary[0];
}

// dtype that a result has: type promotion among the operands, or what the graph says when none is a float (an integer
// division).
DType dtype_of(const Call& c) {
  const Tensor none;
  const auto operand = [&](size_t i) { return i < c.in.size() ? &c.in[i] : &none; };
  const DType dtype = result_type({operand(0), operand(1), operand(2)});
  return is_differentiable(dtype) ? dtype : c.graph_dtype();
}

bool is_number(const Call& c, size_t i) { return i >= c.in.size() || !c.in[i].defined() || c.in[i].on_host(); }

const Tensor& operand(const Call& c, size_t i) {
  static const Tensor none;  // an empty handle, never changed
  return i < c.in.size() ? c.in[i] : none;
}

Tensor result(Call& c, DType dtype) {
  if (c.in_place) return same_storage(c.m, c.in[0]);
  return pointwise_result(c.m, {&c.in[0], &operand(c, 1), &operand(c, 2)}, dtype);
}

// What an in-place op must keep of its own input: a copy, made before it is overwritten.
Tensor kept_self(Call& c, bool wanted) {
  if (!wanted || !c.m.records({&c.in[0], &operand(c, 1), &operand(c, 2)})) return {};
  if (!c.in_place) return c.in[0];
  NoGrad off(c.m);
  return clone(c.m, c.in[0]);
}

Tensor like(Backward& b, const Tensor& x) { return pointwise_result(b.m, {&x}, x.dtype()); }
Tensor like(Backward& b, const Tensor& x, const Tensor& y) {
  return pointwise_result(b.m, {&x, &y}, result_type({&x, &y}));
}
Tensor mask_of(Machine& m, const Tensor& x, const Tensor& y) { return pointwise_result(m, {&x, &y}, DType::boolean); }

// A logical_and of two comparisons, each a mask of its own.
Tensor both_hold(Backward& b, const Tensor& x) {
  const Tensor first = mask_of(b.m, x, x);
  const Tensor second = mask_of(b.m, x, x);
  return mask_of(b.m, first, second);
}

// self + alpha * other; grads in the order of the argument names: other, self.
void add_rule(Call& c) {
  const Tensor& other = operand(c, 1);
  Tensor y = result(c, dtype_of(c));
  const bool scales = c.node.attr_float("alpha", 1) != 1;
  c.m.record("AddBackward0", {c.in[0], other}, {y}, {}, [scales](Backward& b) {
    if (b.needs(1)) b.set(1, scales ? like(b, b.grad()) : b.grad());
    if (b.needs(0)) b.set(0, b.grad());
  });
  c.out[0] = y;
}

void sub_rule(Call& c) {
  const Tensor& other = operand(c, 1);
  Tensor y = result(c, dtype_of(c));
  const bool scales = c.node.attr_float("alpha", 1) != 1;
  const bool reverse = c.node.attr_int("reverse", 0) != 0;  // number - tensor: rsub
  c.m.record(reverse ? "RsubBackward1" : "SubBackward0", {c.in[0], other}, {y}, {}, [scales, reverse](Backward& b) {
    if (b.needs(1)) {
      const Tensor negative = like(b, b.grad());
      b.set(1, scales ? like(b, negative) : negative);
    }
    if (b.needs(0)) b.set(0, reverse ? like(b, b.grad()) : b.grad());
  });
  c.out[0] = y;
}

void mul_rule(Call& c) {
  const Tensor& other = operand(c, 1);
  const Tensor self = kept_self(c, other.requires_grad());
  Tensor y = result(c, dtype_of(c));
  if (is_number(c, 1)) {
    c.m.record("MulBackward0", {c.in[0]}, {y}, {}, [](Backward& b) { b.set(0, like(b, b.grad())); });
  } else {
    c.m.record("MulBackward0", {c.in[0], other}, {y}, {self, c.in[0].requires_grad() ? other : Tensor()},
               [](Backward& b) {
                 for (const size_t i : {size_t{1}, size_t{0}}) {
                   if (!b.needs(i)) continue;
                   // A number's gradient needs no values: the product has the sizes of the incoming gradient.
                   b.set(i, b.saved(1 - i).defined() ? like(b, b.grad(), b.saved(1 - i)) : like(b, b.grad()));
                 }
               });
  }
  c.out[0] = y;
}

// self / other. d(other) = -grad * ((self / other) / other): three temporaries.
Tensor record_div(Machine& m, const Tensor& self, const Tensor& other, const Tensor& kept, Tensor y, bool rounds) {
  m.record("DivBackward0", {self, other}, {y}, {kept, other}, [rounds](Backward& b) {
    const Tensor& divisor = b.saved(1);
    if (b.needs(1) && rounds) b.set(1, like(b, b.grad()));
    if (b.needs(1) && !rounds) {
      Tensor negative = like(b, b.grad());
      Tensor quotient = like(b, b.saved(0), divisor);
      Tensor again = like(b, quotient, divisor);
      b.set(1, like(b, negative, again));
      again = {}, quotient = {}, negative = {};
    }
    if (b.needs(0)) b.set(0, rounds || divisor.on_host() ? like(b, b.grad()) : like(b, b.grad(), divisor));
  });
  return y;
}

void div_rule(Call& c) {
  const Tensor& other = operand(c, 1);
  if (c.in[0].on_host() && other.defined()) {  // number / tensor is written other.reciprocal() * number
    c.out[0] = mul_scalar(c.m, unary(c.m, row_of("reciprocal"), other, dtype_of(c)));
    return;
  }
  const bool rounds = !c.node.attr_text("rounding_mode").empty() && c.node.attr_text("rounding_mode") != "none";
  const Tensor self = kept_self(c, other.requires_grad());
  Tensor y = result(c, dtype_of(c));
  if (is_number(c, 1)) {
    c.m.record("DivBackward0", {c.in[0]}, {y}, {}, [](Backward& b) { b.set(0, like(b, b.grad())); });
    c.out[0] = y;
    return;
  }
  c.out[0] = record_div(c.m, c.in[0], other, self, y, rounds);
}

// d(self) = grad; d(other) = -grad * self.div(other): the sign, the quotient, the product.
void remainder_rule(Call& c) {
  const Tensor& other = operand(c, 1);
  const Tensor self = kept_self(c, other.requires_grad());
  Tensor y = result(c, dtype_of(c));
  c.m.record("RemainderBackward0", {c.in[0], other}, {y}, {self, other.requires_grad() ? other : Tensor()},
             [](Backward& b) {
               if (b.needs(1)) {
                 Tensor negative = like(b, b.grad());
                 Tensor quotient = like(b, b.saved(0), b.saved(1));
                 b.set(1, like(b, negative, quotient));
                 quotient = {}, negative = {};
               }
               if (b.needs(0)) b.set(0, b.grad());
             });
  c.out[0] = y;
}

void pow_rule(Call& c) {
  const Tensor& exponent = operand(c, 1);
  if (c.in[0].on_host() && exponent.defined()) {  // number ** tensor
    Tensor y = pointwise_result(c.m, {&exponent}, dtype_of(c));
    const Tensor base = c.m.empty({}, DType::f64);
    c.m.record("PowBackward2", {exponent}, {y}, {exponent, y}, [](Backward& b) {
      const Tensor scaled = like(b, b.saved(1));
      b.set(0, like(b, b.grad(), scaled));
    });
    c.out[0] = y;
    return;
  }
  if (is_number(c, 1)) {
    const bool zero = c.node.has_attr("exponent") && c.node.attr_float("exponent", 2) == 0;
    const Tensor self = kept_self(c, true);
    Tensor y = result(c, dtype_of(c));
    c.m.record("PowBackward0", {c.in[0]}, {y}, {self}, [zero](Backward& b) {
      if (zero) return b.set(0, like(b, b.saved(0)));
      Tensor power = like(b, b.saved(0));
      Tensor scaled = like(b, power);
      b.set(0, like(b, b.grad(), scaled));
      scaled = {}, power = {};
    });
    c.out[0] = y;
    return;
  }
  const Tensor self = kept_self(c, true);
  Tensor y = result(c, dtype_of(c));
  c.m.record("PowBackward1", {c.in[0], exponent}, {y}, {self, exponent, y}, [](Backward& b) {
    const Tensor& base = b.saved(0);
    if (b.needs(1)) {
      Tensor is_zero = both_hold(b, b.saved(2));  // self == 0 and exponent >= 0
      Tensor log = like(b, base);
      Tensor product = like(b, b.saved(2), log);
      Tensor zero = b.m.empty({}, b.grad().dtype());
      Tensor chosen = like(b, product);
      b.set(1, like(b, b.grad(), chosen));
      chosen = {}, zero = {}, product = {}, log = {}, is_zero = {};
    }
    if (b.needs(0)) {
      Tensor less = like(b, b.saved(1));
      Tensor power = like(b, base, less);
      Tensor scaled = like(b, b.saved(1), power);
      Tensor product = like(b, b.grad(), scaled);
      Tensor zero = b.m.empty({}, b.grad().dtype());
      Tensor is_zero = mask_of(b.m, b.saved(1), b.saved(1));
      b.set(0, like(b, product));
      is_zero = {}, zero = {}, product = {}, scaled = {}, power = {}, less = {};
    }
  });
  c.out[0] = y;
}

// Both operands are kept whichever needs a gradient.
void record_both_kept(Call& c, std::string_view name, BackwardFn formula) {
  const Tensor self = kept_self(c, true);
  Tensor y = result(c, dtype_of(c));
  c.m.record(name, {c.in[0], operand(c, 1)}, {y}, {self, operand(c, 1)}, std::move(formula));
  c.out[0] = y;
}

// where(self == other, grad / 2, grad).masked_fill_(self < other, 0), for each operand.
void extremum_rule(Call& c) {
  record_both_kept(c, "MaximumBackward0", [](Backward& b) {
    for (const size_t i : {size_t{1}, size_t{0}}) {
      if (!b.needs(i)) continue;
      Tensor less = mask_of(b.m, b.saved(0), b.saved(1));
      Tensor half = like(b, b.grad());
      Tensor equal = mask_of(b.m, b.saved(0), b.saved(1));
      b.set(i, like(b, b.grad()));
      equal = {}, half = {}, less = {};
    }
  });
}

void atan2_rule(Call& c) {
  record_both_kept(c, "Atan2Backward0", [](Backward& b) {
    Tensor sum;
    {
      Tensor a = like(b, b.saved(0));
      Tensor d = like(b, b.saved(1));
      sum = like(b, a, d);
      d = {}, a = {};
    }
    Tensor reciprocal = like(b, sum);
    {
      const Tensor infinite = mask_of(b.m, reciprocal, reciprocal);
    }
    Tensor scaled;
    if (b.needs(0)) {
      scaled = like(b, b.grad(), b.saved(1));
      b.set(0, like(b, scaled, reciprocal));
    }
    if (b.needs(1)) {
      Tensor negative = like(b, b.saved(0));
      Tensor product = like(b, b.grad(), negative);
      b.set(1, like(b, product, reciprocal));
      product = {}, negative = {};
    }
    scaled = {}, reciprocal = {}, sum = {};
  });
}

void addcmul_rule(Call& c) {
  const Tensor& t1 = c.in[1];
  const Tensor& t2 = c.in[2];
  Tensor y = result(c, dtype_of(c));
  c.m.record("AddcmulBackward0", {c.in[0], t1, t2}, {y},
             {t2.requires_grad() ? t1 : Tensor(), t1.requires_grad() ? t2 : Tensor()}, [](Backward& b) {
               if (b.needs(0)) b.set(0, b.grad());
               for (const size_t i : {size_t{1}, size_t{2}}) {
                 if (!b.needs(i)) continue;
                 const Tensor scaled = like(b, b.saved(2 - i));
                 b.set(i, like(b, b.grad(), scaled));
               }
             });
  c.out[0] = y;
}

// where(self >= min && self <= max, grad, 0): a zero, one bool mask a bound, the gradient.
void record_clamp(Machine& m, const Tensor& x, const Tensor& kept, Tensor y, int bounds) {
  m.record("ClampBackward1", {x}, {y}, {kept}, [bounds](Backward& b) {
    Tensor zero = b.m.empty({}, b.grad().dtype());
    Tensor low = mask_of(b.m, b.saved(0), b.saved(0));
    Tensor high = bounds > 1 ? mask_of(b.m, b.saved(0), b.saved(0)) : Tensor();
    b.set(0, like(b, b.grad(), low));
    high = {}, low = {}, zero = {};
  });
}

void clamp_rule(Call& c) {
  const int bounds = (c.node.has_attr("min") || operand(c, 1).defined() ? 1 : 0) +
                     (c.node.has_attr("max") || operand(c, 2).defined() ? 1 : 0);
  const Tensor self = kept_self(c, true);
  Tensor y = result(c, dtype_of(c));
  record_clamp(c.m, c.in[0], self, y, bounds);
  c.out[0] = y;
}

// Comparisons, logic and bits: one result, no gradient.
void no_gradient(Call& c) { c.out[0] = result(c, c.graph_dtype()); }

// (self == self) * (self.abs() != inf)
void isfinite_rule(Call& c) {
  if (!is_differentiable(c.in[0].dtype())) return no_gradient(c);
  Tensor magnitude = c.m.empty_like(c.in[0]);
  Tensor finite = c.m.empty_like(c.in[0], DType::boolean);
  Tensor is_number = c.m.empty_like(c.in[0], DType::boolean);
  c.out[0] = c.m.empty_like(c.in[0], DType::boolean);
  is_number = {}, finite = {}, magnitude = {};
}

void isinf_rule(Call& c) {
  if (!is_differentiable(c.in[0].dtype())) return no_gradient(c);
  const Tensor magnitude = c.m.empty_like(c.in[0]);
  c.out[0] = c.m.empty_like(c.in[0], DType::boolean);
}

// The result is a contiguous copy, whatever the layout of self.
Tensor filled(Machine& m, const Tensor& x, const Tensor& mask, DType dtype) {
  const Result<Shape> sizes = broadcast(x.sizes(), mask.sizes());
  return m.empty(sizes ? *sizes : x.sizes(), dtype);
}

Tensor record_masked_fill(Machine& m, const Tensor& x, const Tensor& mask, Tensor y) {
  m.record("MaskedFillBackward0", {x}, {y}, {mask},
           [](Backward& b) { b.set(0, filled(b.m, b.grad(), b.saved(0), b.grad().dtype())); });
  return y;
}

void masked_fill_rule(Call& c) {
  c.out[0] = record_masked_fill(
      c.m, c.in[0], c.in[1], c.in_place ? same_storage(c.m, c.in[0]) : filled(c.m, c.in[0], c.in[1], c.in[0].dtype()));
}

// A number becomes a one-element tensor on the device for the duration of the call.
void where_rule(Call& c) {
  const Tensor& condition = c.in[0];
  Tensor self = operand(c, 1);
  Tensor other = operand(c, 2);
  const DType typed = result_type({&self, &other});
  const DType dtype = is_differentiable(typed) ? typed : c.graph_dtype();
  if (is_number(c, 1)) self = c.m.empty({}, dtype);
  if (is_number(c, 2)) other = c.m.empty({}, dtype);
  Tensor y = pointwise_result(c.m, {&condition, &self, &other}, dtype);
  c.m.record("WhereBackward0", {self, other}, {y}, {condition}, [](Backward& b) {
    for (const size_t i : {size_t{1}, size_t{0}}) {
      if (!b.needs(i)) continue;
      const Tensor zero = b.m.empty({}, b.grad().dtype());
      b.set(i, pointwise_result(b.m, {&b.saved(0), &b.grad()}, b.grad().dtype()));
    }
  });
  c.out[0] = y;
}

void fake_quantize_rule(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty_like(x);
  Tensor mask = c.m.empty_like(x, DType::boolean);
  c.m.record("FakeQuantizePerTensorAffineCachemaskBackward0", {x}, {y}, {mask},
             [](Backward& b) { b.set(0, like(b, b.grad())); });
  c.out[0] = y;
}

constexpr auto kUnaryRules = unary_rules<kUnary>();
constexpr RuleRow kOwn[] = {
    {"add", add_rule, Autocast::none, "derivatives.yaml: add.Tensor; trace 2.15"},
    {"addcmul", addcmul_rule, Autocast::promote, "derivatives.yaml: addcmul; trace 2.15"},
    {"atan2", atan2_rule, Autocast::promote, "derivatives.yaml: atan2; trace 2.15"},
    {"bitwise_and", no_gradient, Autocast::none, "no derivative"},
    {"bitwise_not", no_gradient, Autocast::none, "no derivative"},
    {"bitwise_or", no_gradient, Autocast::none, "no derivative"},
    {"bitwise_xor", no_gradient, Autocast::none, "no derivative"},
    {"clamp", clamp_rule, Autocast::none, "FunctionsManual.cpp: clamp_backward; trace 2.15"},
    {"div", div_rule, Autocast::none, "FunctionsManual.cpp: div_tensor_other_grad; trace 2.15"},
    {"eq", no_gradient, Autocast::none, "no derivative"},
    {"fake_quantize", fake_quantize_rule, Autocast::none, "fake_quantize_per_tensor_affine_cachemask; trace 2.15"},
    {"fmod", remainder_rule, Autocast::none, "derivatives.yaml: fmod; trace 2.15"},
    {"ge", no_gradient, Autocast::none, "no derivative"},
    {"gt", no_gradient, Autocast::none, "no derivative"},
    {"isfinite", isfinite_rule, Autocast::none, "TensorCompare.cpp: isfinite; trace 2.15"},
    {"isinf", isinf_rule, Autocast::none, "TensorCompare.cpp: isinf; trace 2.15"},
    {"isnan", no_gradient, Autocast::none, "no derivative"},
    {"le", no_gradient, Autocast::none, "no derivative"},
    {"logical_and", no_gradient, Autocast::none, "no derivative"},
    {"logical_not", no_gradient, Autocast::none, "no derivative"},
    {"logical_or", no_gradient, Autocast::none, "no derivative"},
    {"logical_xor", no_gradient, Autocast::none, "no derivative"},
    {"lt", no_gradient, Autocast::none, "no derivative"},
    {"masked_fill", masked_fill_rule, Autocast::none, "derivatives.yaml: masked_fill; trace 2.15"},
    {"maximum", extremum_rule, Autocast::none, "derivatives.yaml: maximum; trace 2.15"},
    {"minimum", extremum_rule, Autocast::none, "derivatives.yaml: minimum; trace 2.15"},
    {"mul", mul_rule, Autocast::none, "derivatives.yaml: mul.Tensor; trace 2.15"},
    {"ne", no_gradient, Autocast::none, "no derivative"},
    {"pow", pow_rule, Autocast::fp32, "FunctionsManual.cpp: pow_backward; trace 2.15"},
    {"remainder", remainder_rule, Autocast::none, "derivatives.yaml: remainder; trace 2.15"},
    {"sub", sub_rule, Autocast::none, "derivatives.yaml: sub.Tensor, rsub; trace 2.15"},
    {"where", where_rule, Autocast::none, "derivatives.yaml: where.self; trace 2.15"},
};
constexpr auto kRules = joined(kUnaryRules, std::to_array(kOwn));

}  // namespace

Tensor abs(Machine& m, const Tensor& x) { return unary(m, row_of("abs"), x, x.dtype()); }
Tensor exp(Machine& m, const Tensor& x) { return unary(m, row_of("exp"), x, x.dtype()); }
Tensor neg(Machine& m, const Tensor& x) { return unary(m, row_of("neg"), x, x.dtype()); }
Tensor sqrt(Machine& m, const Tensor& x) { return unary(m, row_of("sqrt"), x, x.dtype()); }

Tensor add_scalar(Machine& m, const Tensor& x) {
  Tensor y = pointwise_result(m, {&x}, x.dtype());
  m.record("AddBackward0", {x}, {y}, {}, [](Backward& b) { b.set(0, b.grad()); });
  return y;
}

Tensor pow_scalar(Machine& m, const Tensor& x) {
  static constexpr Unary kPow{"pow", "PowBackward0", Keeps::input, 2, ""};
  return unary(m, kPow, x, x.dtype());
}

Tensor sub(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor y = pointwise_result(m, {&a, &b}, result_type({&a, &b}));
  m.record("SubBackward0", {a, b}, {y}, {}, [](Backward& call) {
    if (call.needs(1)) call.set(1, like(call, call.grad()));
    if (call.needs(0)) call.set(0, call.grad());
  });
  return y;
}

Tensor div(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor y = pointwise_result(m, {&a, &b}, result_type({&a, &b}));
  return record_div(m, a, b, b.requires_grad() ? a : Tensor(), y, false);
}

Tensor clamp_min(Machine& m, const Tensor& x) {
  Tensor y = pointwise_result(m, {&x}, x.dtype());
  record_clamp(m, x, x, y, 1);
  return y;
}

Tensor masked_fill(Machine& m, const Tensor& x, const Tensor& mask) {
  return record_masked_fill(m, x, mask, filled(m, x, mask, x.dtype()));
}

Tensor compare(Machine& m, const Tensor& x) { return pointwise_result(m, {&x}, DType::boolean); }

std::span<const RuleRow> pointwise_rules() { return kRules; }

}  // namespace ullage::eager
