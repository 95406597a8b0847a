#include "ullage/eager/ops/pointwise.h"
#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

constexpr Unary kUnary[] = {
    {"celu", "CeluBackward0", Keeps::input, 0, "derivatives.yaml: celu; trace 2.15", Autocast::none, true},
    {"elu", "EluBackward0", Keeps::input, 0, "derivatives.yaml: elu; trace 2.15", Autocast::none, true},
    {"gelu", "GeluBackward0", Keeps::input, 0, "derivatives.yaml: gelu; trace 2.15"},
    {"hardshrink", "HardshrinkBackward0", Keeps::input, 0, "derivatives.yaml: hardshrink; trace 2.15"},
    {"hardsigmoid", "HardsigmoidBackward0", Keeps::input, 0, "derivatives.yaml: hardsigmoid; trace 2.15"},
    {"hardswish", "HardswishBackward0", Keeps::input, 0, "derivatives.yaml: hardswish; trace 2.15"},
    {"hardtanh", "HardtanhBackward0", Keeps::input, 0, "derivatives.yaml: hardtanh; trace 2.15"},
    {"leaky_relu", "LeakyReluBackward0", Keeps::input, 0, "derivatives.yaml: leaky_relu; trace 2.15", Autocast::none,
     true},
    {"log_sigmoid", "LogSigmoidBackward0", Keeps::input, 0, "derivatives.yaml: log_sigmoid_forward; trace 2.15"},
    {"mish", "MishBackward0", Keeps::input, 0, "derivatives.yaml: mish; trace 2.15"},
    {"relu", "ReluBackward0", Keeps::result, 0, "derivatives.yaml: relu; trace 2.15"},
    {"selu", "EluBackward0", Keeps::input, 0, "derivatives.yaml: elu, called by selu; trace 2.15", Autocast::none,
     true},
    {"sigmoid", "SigmoidBackward0", Keeps::result, 0, "derivatives.yaml: sigmoid; trace 2.15"},
    {"silu", "SiluBackward0", Keeps::input, 0, "derivatives.yaml: silu; trace 2.15"},
    {"softplus", "SoftplusBackward0", Keeps::input, 0, "derivatives.yaml: softplus; trace 2.15", Autocast::fp32},
    {"softshrink", "SoftshrinkBackward0", Keeps::input, 0, "derivatives.yaml: softshrink; trace 2.15"},
    {"tanh", "TanhBackward0", Keeps::result, 0, "derivatives.yaml: tanh; trace 2.15"},
    {"threshold", "ThresholdBackward0", Keeps::input, 0, "derivatives.yaml: threshold; trace 2.15"},
};

// Half of the input gates the other half; both halves are views.
void glu(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record("GluBackward0", {x}, {y}, {x},
             [](Backward& b) { b.set(0, b.m.empty(b.saved(0).sizes(), b.grad().dtype())); });
  c.out[0] = y;
}

// The weight's gradient is made at the full size of x and summed down afterwards.
void prelu(Call& c) {
  const Tensor& x = c.in[0];
  Tensor weight = c.in[1];
  if (x.rank() > 1) {
    Shape along_channels;
    for (int d = 0; d < x.rank(); ++d) along_channels.push(d == 1 ? weight.numel() : 1);
    weight = reshape(c.m, weight, along_channels);
  }
  Tensor y = pointwise_result(c.m, {&x, &weight}, x.dtype());
  c.m.record("PreluKernelBackward0", {x, weight}, {y}, {x, weight}, [](Backward& b) {
    const Tensor grad_x = pointwise_result(b.m, {&b.grad(), &b.saved(0)}, b.grad().dtype());
    const Tensor grad_weight = pointwise_result(b.m, {&b.grad(), &b.saved(0)}, b.grad().dtype());
    if (b.needs(0)) b.set(0, grad_x);
    if (b.needs(1)) b.set(1, grad_weight);
  });
  c.out[0] = y;
}

void softsign(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor denominator = add_scalar(c.m, abs(c.m, x));
  c.out[0] = div(c.m, x, denominator);
}

constexpr auto kUnaryRules = unary_rules<kUnary>();
constexpr RuleRow kOwn[] = {
    {"glu", glu, Autocast::none, "derivatives.yaml: glu; trace 2.15"},
    {"prelu", prelu, Autocast::lower, "Activation.cpp: prelu; derivatives.yaml: _prelu_kernel; trace 2.15"},
    {"softsign", softsign, Autocast::none, "torch.nn.functional.softsign; trace 2.15"},
};
constexpr auto kRules = joined(kUnaryRules, std::to_array(kOwn));

}  // namespace

std::span<const RuleRow> activation_rules() { return kRules; }

}  // namespace ullage::eager
