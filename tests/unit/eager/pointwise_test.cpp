// Every value is an event trace of PyTorch 2.15 on [4, 6, 10] float32 leaves: forward | incoming gradient | backward.
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

struct Row {
  std::string_view name;
  std::string_view op;
  std::string_view trace;
};

const Shape kSizes = {4, 6, 10};

constexpr Row kOneOperand[] = {
    {"abs", "abs", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"acos", "acos", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 +7:960 +8:960 -7 -6 -5 -4 -3"},
    {"acosh", "acosh", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 -5 -4 -3"},
    {"asin", "asin", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 +7:960 -6 -5 -4 -3"},
    {"asinh", "asinh", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 -5 -4 -3"},
    {"atan", "atan", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3"},
    {"atanh", "atanh", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 -5 -4 -3"},
    {"ceil", "ceil", "+1:960 | +2:960 | +3:960"},
    {"cos", "cos", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3"},
    {"cosh", "cosh", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"erf", "erf", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 +7:960 -6 -5 -4 -3"},
    {"exp", "exp", "+1:960 | +2:960 | +3:960"},
    {"expm1", "expm1", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"floor", "floor", "+1:960 | +2:960 | +3:960"},
    {"log", "log", "+1:960 | +2:960 | +3:960"},
    {"log1p", "log1p", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"neg", "neg", "+1:960 | +2:960 | +3:960"},
    {"reciprocal", "reciprocal", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3"},
    {"round", "round", "+1:960 | +2:960 | +3:960"},
    {"rsqrt", "rsqrt", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3"},
    {"sign", "sign", "+1:960 | +2:960 | +3:960"},
    {"sin", "sin", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"sinh", "sinh", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"sqrt", "sqrt", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"tan", "tan", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3"},
    {"trunc", "trunc", "+1:960 | +2:960 | +3:960"},
    {"isfinite", "isfinite", "+1:960 +2:240 +3:240 +4:240 -3 -2 -1"},
    {"isinf", "isinf", "+1:960 +2:240 -1"},
    {"isnan", "isnan", "+1:240"},
    {"logical_not", "logical_not", "+1:240"},
    {"sigmoid", "sigmoid", "+1:960 | +2:960 | +3:960"},
    {"tanh", "tanh", "+1:960 | +2:960 | +3:960"},
    {"relu", "relu", "+1:960 | +2:960 | +3:960"},
    {"hardswish", "hardswish", "+1:960 | +2:960 | +3:960"},
    {"hardsigmoid", "hardsigmoid", "+1:960 | +2:960 | +3:960"},
    {"silu", "silu", "+1:960 | +2:960 | +3:960"},
    {"mish", "mish", "+1:960 | +2:960 | +3:960"},
    {"gelu", "gelu", "+1:960 | +2:960 | +3:960"},
    {"softplus", "softplus", "+1:960 | +2:960 | +3:960"},
    {"softshrink", "softshrink", "+1:960 | +2:960 | +3:960"},
    {"hardshrink", "hardshrink", "+1:960 | +2:960 | +3:960"},
    {"selu", "selu", "+1:960 | +2:960 | +3:960"},
    {"elu", "elu", "+1:960 | +2:960 | +3:960"},
    {"celu", "celu", "+1:960 | +2:960 | +3:960"},
    {"leaky_relu", "leaky_relu", "+1:960 | +2:960 | +3:960"},
    {"hardtanh", "hardtanh", "+1:960 | +2:960 | +3:960"},
    {"threshold", "threshold", "+1:960 | +2:960 | +3:960"},
    {"softsign", "softsign",
     "+1:960 +2:960 -1 +3:960 | +4:960 | +5:960 +6:960 +7:960 +8:960 -7 -6 -5 +9:960 -2 +10:960 +11:960 -10 -8 -11"},
    {"logsigmoid", "log_sigmoid", "+1:960 | +2:960 | +3:960"},
};

// After a multiplication by a number, so that the input is no leaf.
constexpr Row kInPlace[] = {
    {"inplace relu_", "relu_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace sigmoid_", "sigmoid_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace tanh_", "tanh_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace hardswish", "hardswish_", "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4"},
    {"inplace silu", "silu_", "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4"},
    {"inplace hardsigmoid", "hardsigmoid_", "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4"},
    {"inplace mish", "mish_", "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4"},
    {"inplace leaky_relu", "leaky_relu_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace elu", "elu_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace celu", "celu_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace selu", "selu_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace hardtanh", "hardtanh_", "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4"},
    {"inplace exp_", "exp_", "+1:960 | +2:960 | +3:960 +4:960 -3"},
    {"inplace sqrt_", "sqrt_", "+1:960 | +2:960 | +3:960 +4:960 -3 +5:960 -4"},
    {"inplace threshold", "threshold_", "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4"},
};

constexpr Row kTwoOperands[] = {
    {"add both", "add", "+1:960 | +2:960 | +3:960 +4:960"},
    {"sub both", "sub", "+1:960 | +2:960 | +3:960 +4:960"},
    {"mul both", "mul", "+1:960 | +2:960 | +3:960 +4:960"},
    {"div both", "div", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 -5 -4 -3 +7:960"},
    {"pow both", "pow",
     "+1:960 | +2:960 | +3:240 +4:240 +5:240 -4 -3 +6:960 +7:960 +8:4 +9:960 +10:960 -9 -8 -7 -6 -5 +11:960 +12:960 "
     "+13:960 +14:960 +15:4 +16:240 +17:960 -16 -15 -14 -13 -12 -11"},
    {"maximum both", "maximum",
     "+1:960 | +2:960 | +3:240 +4:960 +5:240 +6:960 -5 -4 -3 +7:240 +8:960 +9:240 +10:960 -9 -8 -7"},
    {"minimum both", "minimum",
     "+1:960 | +2:960 | +3:240 +4:960 +5:240 +6:960 -5 -4 -3 +7:240 +8:960 +9:240 +10:960 -9 -8 -7"},
    {"atan2 both", "atan2",
     "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3 +6:960 +7:240 -7 +8:960 +9:960 +10:960 +11:960 +12:960 -11 -10 -8 "
     "-6 -5"},
    {"fmod both", "fmod", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3 +6:960"},
    {"remainder both", "remainder", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3 +6:960"},
    {"eq both", "eq", "+1:240"},
    {"logical_and both", "logical_and", "+1:240"},
};

// The second operand is a row of ten: its gradient is summed down.
constexpr Row kRowOperand[] = {
    {"mul row", "mul", "+1:960 | +2:960 | +3:960 +4:960 +5:40 -3"},
    {"div row", "div", "+1:960 | +2:960 | +3:960 +4:960 +5:960 +6:960 -5 -4 -3 +7:960 +8:40 -6"},
    {"sub row", "sub", "+1:960 | +2:960 | +3:960 +4:40 -3 +5:960"},
    {"maximum row", "maximum",
     "+1:960 | +2:960 | +3:240 +4:960 +5:240 +6:960 -5 -4 -3 +7:240 +8:960 +9:240 +10:960 -9 -8 -7 +11:40 -6"},
};

// The second operand is a Python number.
constexpr Row kNumberOperand[] = {
    {"add1", "add", "+1:960 | +2:960 | +3:960"},
    {"sub1", "sub", "+1:960 | +2:960 | +3:960"},
    {"mul2", "mul", "+1:960 | +2:960 | +3:960"},
    {"div2", "div", "+1:960 | +2:960 | +3:960"},
    {"pow2", "pow", "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3"},
    {"fmod", "fmod", "+1:960 | +2:960 | +3:960"},
    {"remainder", "remainder", "+1:960 | +2:960 | +3:960"},
    {"gt", "gt", "+1:240"},
};

DType result_dtype(std::string_view op) {
  for (const std::string_view predicate : {"eq", "gt", "logical_and", "isfinite", "isinf", "isnan", "logical_not"}) {
    if (op == predicate) return DType::boolean;
  }
  return DType::f32;
}

std::vector<OutSpec> one_output(std::string_view op) { return {OutSpec(kSizes, result_dtype(op))}; }

TEST(Pointwise, OneOperand) {
  for (const Row& row : kOneOperand) {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run(row.op, {x}, one_output(row.op)); }), row.trace) << row.name;
  }
}

TEST(Pointwise, InPlaceKeepsItsResultOrACopyOfItsInput) {
  for (const Row& row : kInPlace) {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const auto forward = [&] {
      const Tensor doubled = f.run("mul", {x}, one_output("mul"), {{"other", 2.0}})[0];
      return f.run(row.op, {doubled}, one_output(row.op));
    };
    EXPECT_EQ(f.trace(forward), row.trace) << row.name;
  }
}

TEST(Pointwise, TwoOperands) {
  for (const Row& row : kTwoOperands) {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run(row.op, {x, y}, one_output(row.op)); }), row.trace) << row.name;
  }
}

TEST(Pointwise, RowOperand) {
  for (const Row& row : kRowOperand) {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf({10});
    EXPECT_EQ(f.trace([&] { return f.run(row.op, {x, y}, one_output(row.op)); }), row.trace) << row.name;
  }
}

TEST(Pointwise, NumberOperand) {
  for (const Row& row : kNumberOperand) {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const std::string_view attr = row.op == "pow" ? "exponent" : "other";
    EXPECT_EQ(f.trace([&] { return f.run(row.op, {x}, one_output(row.op), {{attr, 2.0}}); }), row.trace) << row.name;
  }
}

TEST(Pointwise, MasksAndBounds) {
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("clamp", {x}, one_output("add"), {{"min", 0.0}, {"max", 1.0}}); }),
              "+1:960 | +2:960 | +3:4 +4:240 +5:240 +6:960 -5 -4 -3")
        << "clamp";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("clamp", {x}, one_output("add"), {{"min", 0.0}}); }),
              "+1:960 | +2:960 | +3:4 +4:240 +5:960 -4 -3")
        << "clampmin";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor mask = f.data({6, 10}, DType::boolean);
    EXPECT_EQ(f.trace([&] { return f.run("masked_fill", {x, mask}, one_output("add")); }), "+1:960 | +2:960 | +3:960")
        << "masked_fill";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor mask = f.data({6, 10}, DType::boolean);
    EXPECT_EQ(f.trace([&] { return f.run("where", {mask, x, {}}, one_output("add"), {{"other", 0.0}}); }),
              "+1:4 +2:960 -1 | +3:960 | +4:4 +5:960 -4")
        << "where scalar other";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor mask = f.data({6, 10}, DType::boolean);
    EXPECT_EQ(f.trace([&] { return f.run("where", {mask, {}, x}, one_output("add"), {{"self", 0.0}}); }),
              "+1:4 +2:960 -1 | +3:960 | +4:4 +5:960 -4")
        << "where scalar self";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf(kSizes);
    const Tensor mask = f.data({6, 10}, DType::boolean);
    EXPECT_EQ(f.trace([&] { return f.run("where", {mask, x, y}, one_output("add")); }),
              "+1:960 | +2:960 | +3:4 +4:960 -3 +5:4 +6:960 -5")
        << "where both";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor zero = f.data({});
    const Tensor mask = f.data({6, 10}, DType::boolean);
    EXPECT_EQ(f.trace([&] { return f.run("where", {mask, x, zero}, one_output("add")); }),
              "+1:960 | +2:960 | +3:4 +4:960 -3")
        << "where 0d";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("fake_quantize", {x}, one_output("add")); }),
              "+1:960 +2:240 | +3:960 | +4:960 -2")
        << "fakeq";
  }
}

TEST(Pointwise, OperandsWithoutGradient) {
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor row = f.data({10});
    EXPECT_EQ(f.trace([&] { return f.run("mul", {x, row}, one_output("add")); }), "+1:960 | +2:960 | +3:960")
        << "mul row nograd";
  }
  {
    EagerFixture f;
    const Tensor x = f.data(kSizes);
    const Tensor row = f.leaf({10});
    EXPECT_EQ(f.trace([&] { return f.run("mul", {x, row}, one_output("add")); }), "+1:960 | +2:960 | +3:960 +4:40 -3")
        << "mul only row";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor zero = f.data({});
    EXPECT_EQ(f.trace([&] { return f.run("div", {x, zero}, one_output("add")); }), "+1:960 | +2:960 | +3:960")
        << "div 0d";
  }
}

TEST(Pointwise, Scales) {
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("add", {x, y}, one_output("add"), {{"alpha", 2.0}}); }),
              "+1:960 | +2:960 | +3:960 +4:960")
        << "alpha both";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("sub", {x, y}, one_output("add"), {{"alpha", 2.0}}); }),
              "+1:960 | +2:960 | +3:960 +4:960 -3 +5:960")
        << "subalpha both";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("sub", {x}, one_output("add"), {{"other", 1.0}, {"reverse", int64_t{1}}}); }),
              "+1:960 | +2:960 | +3:960")
        << "rsub1";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf(kSizes);
    const Tensor z = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("addcmul", {x, y, z}, one_output("add")); }),
              "+1:960 | +2:960 | +3:960 +4:960 -3 +5:960 +6:960 -5 +7:960")
        << "addcmul";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor y = f.leaf(kSizes);
    EXPECT_EQ(
        f.trace([&] { return f.run("div", {x, y}, one_output("add"), {{"rounding_mode", std::string("floor")}}); }),
        "+1:960 | +2:960 | +3:960 +4:960")
        << "divfloor both";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("div", {f.m().host_scalar(DType::f32), x}, one_output("add")); }),
              "+1:960 +2:960 | +3:960 | +4:960 +5:960 +6:960 +7:960 -6 -5 -4 -1")
        << "rdiv";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("pow", {f.m().host_scalar(DType::f32), x}, one_output("add")); }),
              "+1:960 +2:8 -2 | +3:960 | +4:960 +5:960 -4")
        << "rpow";
  }
}

TEST(Pointwise, Float16AndMixed) {
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes, DType::f16);
    EXPECT_EQ(f.trace([&] { return f.run("clamp", {x}, one_output("add"), {{"min", 0.0}, {"max", 1.0}}); }),
              "+1:480 | +2:480 | +3:2 +4:240 +5:240 +6:480 -5 -4 -3")
        << "clamp";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes, DType::f16);
    const Tensor row = f.leaf({10});
    EXPECT_EQ(f.trace([&] { return f.run("mul", {x, row}, one_output("add")); }),
              "+1:960 | +2:960 | +3:960 +4:960 +5:480 -4 +6:40 -3")
        << "mul mixed";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes, DType::f16);
    const Tensor row = f.leaf({10});
    EXPECT_EQ(f.trace([&] { return f.run("add", {x, row}, one_output("add")); }), "+1:960 | +2:960 | +3:480 +4:40")
        << "add mixed";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes, DType::f16);
    EXPECT_EQ(f.trace([&] { return f.run("isfinite", {x}, one_output("isfinite")); }),
              "+1:480 +2:240 +3:240 +4:240 -3 -2 -1")
        << "isfinite";
  }
}

TEST(Pointwise, Gates) {
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor w = f.leaf({1});
    EXPECT_EQ(f.trace([&] { return f.run("prelu", {x, w}, one_output("add")); }),
              "+1:960 | +2:960 | +3:960 +4:960 +5:4 -4")
        << "prelu1";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    const Tensor w = f.leaf({6});
    EXPECT_EQ(f.trace([&] { return f.run("prelu", {x, w}, one_output("add")); }),
              "+1:960 | +2:960 | +3:960 +4:960 +5:24 -4")
        << "prelu6";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf(kSizes);
    EXPECT_EQ(f.trace([&] { return f.run("glu", {x}, {{4, 6, 5}}, {{"dim", int64_t{-1}}}); }),
              "+1:480 | +2:480 | +3:960")
        << "glu";
  }
}

}  // namespace
}  // namespace ullage::eager
