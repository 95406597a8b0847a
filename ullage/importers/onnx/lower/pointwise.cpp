// Operators on each element: arithmetic, comparisons, activations, Cast, Where.

#include "ullage/importers/onnx/lower/pointwise.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ullage::onnx {
namespace {

struct Named {
  std::string_view onnx;
  std::string_view aten;
};

constexpr Named kUnary[] = {
    {"Abs", "abs"},
    {"Acos", "acos"},
    {"Acosh", "acosh"},
    {"Asin", "asin"},
    {"Asinh", "asinh"},
    {"Atan", "atan"},
    {"Atanh", "atanh"},
    {"BitwiseNot", "bitwise_not"},
    {"Ceil", "ceil"},
    {"Cos", "cos"},
    {"Cosh", "cosh"},
    {"Erf", "erf"},
    {"Exp", "exp"},
    {"Floor", "floor"},
    {"HardSwish", "hardswish"},
    {"Log", "log"},
    {"Mish", "mish"},
    {"Neg", "neg"},
    {"Reciprocal", "reciprocal"},
    {"Relu", "relu"},
    {"Round", "round"},
    {"Selu", "selu"},
    {"Sigmoid", "sigmoid"},
    {"Sign", "sign"},
    {"Sin", "sin"},
    {"Sinh", "sinh"},
    {"Softsign", "softsign"},
    {"Sqrt", "sqrt"},
    {"Tan", "tan"},
    {"Tanh", "tanh"},
    {"Swish", "silu"},
    {"HardSigmoid", "hardsigmoid"},
};

Status unary(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const auto* row = std::ranges::find(kUnary, c.node().op, &Named::onnx);
  return c.result(row->aten, {c.id(0)}, c.dtype(0), c.sizes(0));
}

constexpr Named kPredicates[] = {{"IsInf", "isinf"}, {"IsNaN", "isnan"}, {"Not", "logical_not"}};

Status predicate(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const auto* row = std::ranges::find(kPredicates, c.node().op, &Named::onnx);
  return c.result(row->aten, {c.id(0)}, DType::boolean, c.sizes(0));
}

constexpr Named kBinary[] = {
    {"Add", "add"},
    {"Sub", "sub"},
    {"Mul", "mul"},
    {"BitwiseAnd", "bitwise_and"},
    {"BitwiseOr", "bitwise_or"},
    {"BitwiseXor", "bitwise_xor"},
};

Status arithmetic(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, axis_broadcast(c));
  const auto* row = std::ranges::find(kBinary, c.node().op, &Named::onnx);
  return with_number(c, row->aten, sizes, c.dtype(0), row->aten == "sub");
}

Status divide(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, axis_broadcast(c));
  const bool whole = !is_floating(c.dtype(0)) && !is_complex(c.dtype(0));
  if (c.number(0) && !c.number(1) && !whole) {  // number / tensor is reciprocal, then times the number
    const Attr times = c.number_attr("other", c.id(0));
    const DType dtype = c.dtype(1);
    const double by = *c.number(0);
    DraftId y = c.step("reciprocal", {c.id(1)}, dtype, sizes);
    if (by != 1) y = c.step("mul", {y}, dtype, sizes, {times});
    c.set(0, y);
    return {};
  }
  std::vector<Attr> attrs;
  if (whole) attrs.push_back({"rounding_mode", "trunc"});
  return with_number(c, "div", sizes, c.dtype(0), false, std::move(attrs));
}

Status modulo(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, c.broadcast(c.sizes(0), c.sizes(1)));
  return with_number(c, c.attr("fmod", 0) ? "fmod" : "remainder", sizes, c.dtype(0));
}

Status power(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, axis_broadcast(c));
  if (c.number(1) && !c.number(0))
    return c.result("pow", {c.id(0)}, c.dtype(0), sizes, {c.number_attr("exponent", c.id(1))});
  return c.result("pow", {c.id(0), c.id(1)}, c.dtype(0), sizes);
}

struct Comparison {
  std::string_view onnx, aten, swapped;
};
constexpr Comparison kComparisons[] = {
    {"Equal", "eq", "eq"}, {"Greater", "gt", "lt"},     {"GreaterOrEqual", "ge", "le"},
    {"Less", "lt", "gt"},  {"LessOrEqual", "le", "ge"},
};

Status compare(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, axis_broadcast(c));
  const auto* row = std::ranges::find(kComparisons, c.node().op, &Comparison::onnx);
  if (c.number(1)) return c.result(row->aten, {c.id(0)}, DType::boolean, sizes, {c.number_attr("other", c.id(1))});
  if (c.number(0)) return c.result(row->swapped, {c.id(1)}, DType::boolean, sizes, {c.number_attr("other", c.id(0))});
  return c.result(row->aten, {c.id(0), c.id(1)}, DType::boolean, sizes);
}

constexpr Named kLogical[] = {{"And", "logical_and"}, {"Or", "logical_or"}, {"Xor", "logical_xor"}};

Status logical(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, axis_broadcast(c));
  const auto* row = std::ranges::find(kLogical, c.node().op, &Named::onnx);
  return c.result(row->aten, {c.id(0), c.id(1)}, DType::boolean, sizes);
}

// Max, Min, Sum, Mean of any number of tensors: one binary op after the other.
Status many(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const std::string_view op = c.node().op;
  const std::string_view aten = op == "Max" ? "maximum" : op == "Min" ? "minimum" : "add";
  DraftId y = c.id(0);
  const DType dtype = c.dtype(0);
  for (size_t i = 1; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error("an input is missing");
    UL_TRY(const Sizes sizes, c.broadcast(c.value(y).sizes, c.sizes(i)));
    if (c.number(i) && aten != "add") {
      y = c.step("clamp", {y}, dtype, sizes, {c.number_attr(op == "Max" ? "min" : "max", c.id(i))});
    } else if (c.number(i)) {
      y = c.step("add", {y}, dtype, sizes, {c.number_attr("other", c.id(i))});
    } else {
      y = c.step(aten, {y, c.id(i)}, dtype, sizes);
    }
  }
  if (op == "Mean" && c.input_count() > 1) {
    const Sizes sizes = c.value(y).sizes;
    y = c.step("div", {y}, dtype, sizes, {{"other", static_cast<int64_t>(c.input_count())}});
  }
  c.set(0, y);
  return {};
}

Status clip(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  std::optional<double> low;
  std::optional<double> high;
  std::vector<DraftId> inputs{c.id(0)};
  if (c.opset() < 11) {
    if (c.has_attr("min")) low = c.real("min", 0);
    if (c.has_attr("max")) high = c.real("max", 0);
  } else {
    low = c.number(1);
    high = c.number(2);
    const bool tensors = (c.has(1) && !low) || (c.has(2) && !high);
    if (tensors) return c.result("clamp", {c.id(0), c.id(1), c.id(2)}, c.dtype(0), c.sizes(0));
  }
  if (low && high && *low == 0 && *high == 6) {
    return c.result("hardtanh", inputs, c.dtype(0), c.sizes(0), {{"min_val", 0.0}, {"max_val", 6.0}});
  }
  std::vector<Attr> attrs;
  if (low) attrs.push_back({"min", *low});
  if (high) attrs.push_back({"max", *high});
  return c.result("clamp", inputs, c.dtype(0), c.sizes(0), std::move(attrs));
}

Status cast(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const DType to = c.node().op == "CastLike" ? (c.has(1) ? c.dtype(1) : c.dtype(0))
                                             : dtype_of(static_cast<int32_t>(c.attr("to", 1)));
  if (to == c.dtype(0)) {
    c.set(0, c.id(0));
    return {};
  }
  return c.result("to", {c.id(0)}, to, c.sizes(0), {{"dtype", std::string(name_of(to))}});
}

Status with_alpha(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const std::string_view op = c.node().op;
  const DType dtype = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  if (op == "LeakyRelu")
    return c.result("leaky_relu", {c.id(0)}, dtype, sizes, {{"negative_slope", c.real("alpha", 0.01)}});
  if (op == "Elu") return c.result("elu", {c.id(0)}, dtype, sizes, {{"alpha", c.real("alpha", 1)}});
  if (op == "Celu") return c.result("celu", {c.id(0)}, dtype, sizes, {{"alpha", c.real("alpha", 1)}});
  if (op == "ThresholdedRelu") {
    return c.result("threshold", {c.id(0)}, dtype, sizes, {{"threshold", c.real("alpha", 1)}, {"value", 0.0}});
  }
  if (op == "Softplus") return c.result("softplus", {c.id(0)}, dtype, sizes, {{"beta", 1.0}, {"threshold", 20.0}});
  return c.result(c.real("bias", 0) == 0 ? "hardshrink" : "softshrink", {c.id(0)}, dtype, sizes,
                  {{"lambd", c.real("lambd", 0.5)}});
}

Status gelu(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  return c.result("gelu", {c.id(0)}, c.dtype(0), c.sizes(0),
                  {{"approximate", std::string(c.text("approximate", "none"))}});
}

Status prelu(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("input or slope is missing");
  c.use(c.id(1), Use::weight);
  return c.result("prelu", {c.id(0), c.id(1)}, c.dtype(0), c.sizes(0));
}

Status bit_shift(Call& c) {  // a left shift is a multiplication of integers; the memory is that of any binary op
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const Sizes sizes, c.broadcast(c.sizes(0), c.sizes(1)));
  return c.result("mul", {c.id(0), c.id(1)}, c.dtype(0), sizes);
}

Status where(Call& c) {
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("an input is missing");
  UL_TRY(const Sizes branches, c.broadcast(c.sizes(1), c.sizes(2)));
  UL_TRY(const Sizes sizes, c.broadcast(c.sizes(0), branches));
  const bool left = c.number(1).has_value();
  const bool right = c.number(2).has_value();
  // Where(mask, number, x) is x.masked_fill(mask, number) when x gives the sizes.
  std::vector<Attr> attrs;
  if (left) attrs.push_back(c.number_attr("self", c.id(1)));
  if (right) attrs.push_back(c.number_attr("other", c.id(2)));
  return c.result("where", {c.id(0), left ? DraftId{} : c.id(1), right ? DraftId{} : c.id(2)}, c.dtype(1), sizes,
                  std::move(attrs));
}

Status identity(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const std::string_view aten = find_metadata(c.node().metadata, "ullage.aten");
  if (aten == "aten.contiguous.default" || aten == "aten.clone.default") {
    return c.result(aten == "aten.clone.default" ? "clone" : "contiguous", {c.id(0)}, c.dtype(0), c.sizes(0));
  }
  if (aten == "aten.cat.default") return c.result("cat", {c.id(0)}, c.dtype(0), c.sizes(0), {{"dim", int64_t{0}}});
  c.set(0, c.id(0));
  return {};
}

constexpr OpRule kRules[] = {
    {"", "Abs", 1, unary},
    {"", "Acos", 7, unary},
    {"", "Acosh", 9, unary},
    {"", "Add", 1, arithmetic},
    {"", "And", 1, logical},
    {"", "Asin", 7, unary},
    {"", "Asinh", 9, unary},
    {"", "Atan", 7, unary},
    {"", "Atanh", 9, unary},
    {"", "BitShift", 11, bit_shift},
    {"", "BitwiseAnd", 18, arithmetic},
    {"", "BitwiseNot", 18, unary},
    {"", "BitwiseOr", 18, arithmetic},
    {"", "BitwiseXor", 18, arithmetic},
    {"", "Cast", 1, cast},
    {"", "CastLike", 15, cast},
    {"", "Ceil", 1, unary},
    {"", "Celu", 12, with_alpha},
    {"", "Clip", 1, clip},
    {"", "Cos", 7, unary},
    {"", "Cosh", 9, unary},
    {"", "Div", 1, divide},
    {"", "Elu", 1, with_alpha},
    {"", "Equal", 1, compare},
    {"", "Erf", 9, unary},
    {"", "Exp", 1, unary},
    {"", "Floor", 1, unary},
    {"", "Gelu", 20, gelu},
    {"", "Greater", 1, compare},
    {"", "GreaterOrEqual", 12, compare},
    {"", "HardSigmoid", 1, unary},
    {"", "HardSwish", 14, unary},
    {"", "Identity", 1, identity},
    {"", "IsInf", 10, predicate},
    {"", "IsNaN", 9, predicate},
    {"", "LeakyRelu", 1, with_alpha},
    {"", "Less", 1, compare},
    {"", "LessOrEqual", 12, compare},
    {"", "Log", 1, unary},
    {"", "Max", 1, many},
    {"", "Mean", 1, many},
    {"", "Min", 1, many},
    {"", "Mish", 18, unary},
    {"", "Mod", 10, modulo},
    {"", "Mul", 1, arithmetic},
    {"", "Neg", 1, unary},
    {"", "Not", 1, predicate},
    {"", "Or", 1, logical},
    {"", "PRelu", 1, prelu},
    {"", "Pow", 1, power},
    {"", "Reciprocal", 1, unary},
    {"", "Relu", 1, unary},
    {"", "Round", 11, unary},
    {"", "Selu", 1, unary},
    {"", "Shrink", 9, with_alpha},
    {"", "Sigmoid", 1, unary},
    {"", "Sign", 9, unary},
    {"", "Sin", 7, unary},
    {"", "Sinh", 9, unary},
    {"", "Softplus", 1, with_alpha},
    {"", "Softsign", 1, unary},
    {"", "Sqrt", 1, unary},
    {"", "Sub", 1, arithmetic},
    {"", "Sum", 1, many},
    {"", "Swish", 24, unary},
    {"", "Tan", 7, unary},
    {"", "Tanh", 1, unary},
    {"", "ThresholdedRelu", 10, with_alpha},
    {"", "Where", 9, where},
    {"", "Xor", 1, logical},
};

}  // namespace

Result<Sizes> axis_broadcast(const Call& c) {
  if (c.opset() >= 7 || !c.attr("broadcast", 0) || !c.has_attr("axis")) return c.broadcast(c.sizes(0), c.sizes(1));
  // Before opset 7 the second operand is laid against the first from `axis` on.
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), c.rank(0)));
  Sizes other = c.sizes(1);
  while (other.rank() < c.rank(0) - axis) other.push(1);
  return c.broadcast(c.sizes(0), other);
}

Status with_number(Call& c, std::string_view op, const Sizes& sizes, DType dtype, bool reverse_if_left,
                   std::vector<Attr> attrs) {
  if (c.number(1)) {
    attrs.push_back(c.number_attr("other", c.id(1)));
    return c.result(op, {c.id(0)}, dtype, sizes, std::move(attrs));
  }
  const bool commutes = op == "add" || op == "mul" || op.starts_with("bitwise_");
  if (c.number(0) && (commutes || reverse_if_left)) {
    attrs.push_back(c.number_attr("other", c.id(0)));
    if (!commutes) attrs.push_back({"reverse", int64_t{1}});
    return c.result(op, {c.id(1)}, c.dtype(1), sizes, std::move(attrs));
  }
  return c.result(op, {c.id(0), c.id(1)}, dtype, sizes, std::move(attrs));
}

std::span<const OpRule> pointwise_rules() { return kRules; }

}  // namespace ullage::onnx
