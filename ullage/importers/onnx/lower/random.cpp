// Dropout and random tensors.

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
namespace {

Status dropout(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  double ratio = c.real("ratio", 0.5);
  bool train = false;
  if (c.opset() >= 12) {
    if (c.has(1)) ratio = c.number(1).value_or(ratio);
    train = c.number(2).value_or(0) != 0;
    if (c.has(2) && !c.content(2)) train = true;  // a switch that the user sets: training is what is asked about
  } else if (c.opset() < 7) {
    train = c.attr("is_test", 0) == 0;
  }
  const DraftId y = c.step("dropout", {c.id(0)}, c.dtype(0), c.sizes(0), {{"p", ratio}, {"train", int64_t{train}}});
  c.set(0, y);
  if (c.wants(1)) c.set(1, c.step("full", {}, c.opset() >= 10 ? DType::boolean : c.dtype(0), c.sizes(0)));
  return {};
}

DType asked_dtype(const Call& c, DType otherwise) {
  return c.has_attr("dtype") ? dtype_of(static_cast<int32_t>(c.attr("dtype", 1))) : otherwise;
}

Status random(Call& c) {
  Sizes y;
  const auto shape = c.ints("shape");
  if (shape.size() > kMaxRank) return c.unsupported(fmt::format("a tensor of {} dims", shape.size()));
  for (const int64_t s : shape) y.push(s);
  return c.result("rand", {}, asked_dtype(c, DType::f32), y);
}

Status random_like(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  return c.result("rand", {}, asked_dtype(c, c.dtype(0)), c.sizes(0));
}

Status bernoulli(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  return c.result("bernoulli", {c.id(0)}, asked_dtype(c, c.dtype(0)), c.sizes(0));
}

Status multinomial(Call& c) {
  if (!c.has(0) || c.rank(0) != 2) return c.error("wants a matrix");
  const DType dtype = c.has_attr("dtype") ? dtype_of(static_cast<int32_t>(c.attr("dtype", 6))) : DType::i32;
  return c.result("rand", {}, dtype, Sizes{c.sizes(0)[0], Size(c.attr("sample_size", 1))});
}

constexpr OpRule kRules[] = {
    {"", "Bernoulli", 15, bernoulli},          {"", "Dropout", 1, dropout},
    {"", "Multinomial", 7, multinomial},       {"", "RandomNormal", 1, random},
    {"", "RandomNormalLike", 1, random_like},  {"", "RandomUniform", 1, random},
    {"", "RandomUniformLike", 1, random_like},
};

}  // namespace

std::span<const OpRule> random_rules() { return kRules; }

}  // namespace ullage::onnx
