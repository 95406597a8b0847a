// Quantised operators: of ONNX and of ONNX Runtime. They are inference only; a quantised copy is a cast as far as
// memory goes, and the pair Quantize → Dequantize is fake quantisation.

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/convolution.h"
#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/matmul.h"

namespace ullage::onnx {
namespace {

Status cast_to(Call& c, DType dtype) {
  return c.result("to", {c.id(0)}, dtype, c.sizes(0), {{"dtype", std::string(name_of(dtype))}});
}

Status quantize(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  DType dtype = c.has(2) ? c.dtype(2) : DType::u8;
  if (c.attr("output_dtype", 0)) dtype = dtype_of(static_cast<int32_t>(c.attr("output_dtype", 0)));
  return cast_to(c, dtype);
}

Status dequantize(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("input or scale is missing");
  const DType dtype = c.dtype(1);
  if (c.value(0).home == Home::made) {  // Quantize just before: quantisation-aware training
    const DraftNode& step = c.lowering().draft().nodes[c.value(0).producer];
    if (step.source->op == "QuantizeLinear" && step.op == "to") {
      const DraftId x = step.inputs[0];
      return c.result("fake_quantize", {x}, c.value(x).dtype, c.sizes(0));
    }
  }
  return cast_to(c, dtype);
}

Status dynamic_quantize(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const DType scale = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  c.set(0, c.step("to", {c.id(0)}, DType::u8, sizes, {{"dtype", "uint8"}}));
  if (c.wants(1)) c.set(1, c.step("amax", {c.id(0)}, scale, Sizes{}));
  if (c.wants(2)) c.set(2, c.step("full", {}, DType::u8, Sizes{}));
  return {};
}

Status qlinear_conv(Call& c) {  // x, its scale and zero, w, its scale and zero, y's scale and zero, bias
  if (!c.has(0) || !c.has(3)) return c.error("input or weight is missing");
  UL_TRY(const Window window, window_of(c, c.sizes(0), kernel_of(c.sizes(3))));
  UL_TRY(const Sizes y, convolved(c, c.sizes(0), c.sizes(3), window));
  const DraftId x = padded(c, c.id(0), window);
  return c.result("convolution", {x, c.id(3), c.id(8)}, c.dtype(0), y,
                  convolution_attrs(c, window, false, std::vector<int64_t>(window.kernel.size(), 0)));
}

Status conv_integer(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("input or weight is missing");
  UL_TRY(const Window window, window_of(c, c.sizes(0), kernel_of(c.sizes(1))));
  UL_TRY(const Sizes y, convolved(c, c.sizes(0), c.sizes(1), window));
  const DraftId x = padded(c, c.id(0), window);
  return c.result("convolution", {x, c.id(1), DraftId{}}, DType::i32, y,
                  convolution_attrs(c, window, false, std::vector<int64_t>(window.kernel.size(), 0)));
}

Status product_of(Call& c, size_t a, size_t b, DType dtype) {
  if (!c.has(a) || !c.has(b)) return c.error("an input is missing");
  UL_TRY(const Sizes y, product_sizes(c, c.sizes(a), c.sizes(b)));
  return c.result("matmul", {c.id(a), c.id(b)}, dtype, y);
}

Status matmul_integer(Call& c) { return product_of(c, 0, 1, DType::i32); }
Status qlinear_matmul(Call& c) { return product_of(c, 0, 3, c.has(7) ? c.dtype(7) : DType::u8); }
Status matmul_integer_to_float(Call& c) { return product_of(c, 0, 1, c.has(2) ? c.dtype(2) : DType::f32); }
Status dynamic_quantize_matmul(Call& c) { return product_of(c, 0, 1, c.has(0) ? c.dtype(0) : DType::f32); }

Status qgemm(Call& c) {  // a, scale, zero, b, scale, zero, c, y scale, y zero
  if (!c.has(0) || !c.has(3) || c.rank(0) != 2 || c.rank(3) != 2) return c.error("wants two matrices");
  const Sizes y{c.sizes(0)[c.attr("transA", 0) ? 1 : 0], c.sizes(3)[c.attr("transB", 0) ? 0 : 1]};
  return c.result("matmul", {c.id(0), c.id(3)}, c.has(7) ? c.dtype(0) : DType::f32, y);
}

Status qlinear_binary(Call& c) {  // a, scale, zero, b, scale, zero, y scale, y zero
  if (!c.has(0) || !c.has(3)) return c.error("an input is missing");
  UL_TRY(const Sizes y, c.broadcast(c.sizes(0), c.sizes(3)));
  return c.result(c.node().op == "QLinearMul" ? "mul" : "add", {c.id(0), c.id(3)}, c.dtype(0), y);
}

Status qlinear_unary(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const std::string_view op = c.node().op;
  return c.result(op == "QLinearSigmoid"     ? "sigmoid"
                  : op == "QLinearLeakyRelu" ? "leaky_relu"
                                             : "softmax",
                  {c.id(0)}, c.dtype(0), c.sizes(0),
                  op == "QLinearSoftmax" ? std::vector<Attr>{{"dim", c.attr("axis", -1)}} : std::vector<Attr>{});
}

Status qlinear_global_pool(Call& c) {
  if (!c.has(0) || c.rank(0) < 3) return c.error("the input has no spatial dims");
  const bool channels_last = c.attr("channels_last", 0) != 0;
  Sizes y = c.sizes(0);
  std::vector<int64_t> dims;
  for (int d = channels_last ? 1 : 2; d < y.rank() - (channels_last ? 1 : 0); ++d) {
    y[d] = 1;
    dims.push_back(d);
  }
  return c.result("mean", {c.id(0)}, c.dtype(0), y, {{"dim", dims}, {"keepdim", int64_t{1}}});
}

Status qlinear_average_pool(Call& c) {
  if (!c.has(0) || c.rank(0) != 4) return c.error("wants a 4-D input");
  UL_TRY(const Window window, window_of(c, c.sizes(0)));
  Sizes y{c.sizes(0)[0], c.sizes(0)[1]};
  for (int d = 2; d < 4; ++d) y.push(window.output(c.sizes(0)[d], static_cast<size_t>(d - 2)));
  return c.result("avg_pool2d", {c.id(0)}, c.dtype(0), y,
                  {{"kernel_size", window.kernel},
                   {"stride", window.stride},
                   {"padding", window.common_padding()},
                   {"ceil_mode", int64_t{window.ceil}},
                   {"count_include_pad", c.attr("count_include_pad", 0)}});
}

Status qlinear_concat(Call& c) {  // y scale, y zero, then triples of tensor, scale, zero
  if (!c.has(2)) return c.error("no input");
  Sizes y = c.sizes(2);
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), y.rank()));
  std::vector<DraftId> parts;
  Size sum = 0;
  for (size_t i = 2; i < c.input_count(); i += 3) {
    if (!c.has(i) || c.rank(i) != y.rank()) return c.error("the inputs have different ranks");
    parts.push_back(c.id(i));
    sum = sum + c.sizes(i)[axis];
  }
  y[axis] = sum;
  return c.result("cat", std::move(parts), c.dtype(2), y, {{"dim", int64_t{axis}}});
}

// Weights of N × K in blocks of `bits`-bit numbers.
Status matmul_n_bits(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) < 1) return c.error("input or weight is missing");
  Sizes y = c.sizes(0);
  y[-1] = c.attr("N", 1);
  return c.result("matmul", {c.id(0), c.id(1)}, c.dtype(0), y);
}

constexpr OpRule kRules[] = {
    {"", "ConvInteger", 10, conv_integer},
    {"", "DequantizeLinear", 10, dequantize},
    {"", "DynamicQuantizeLinear", 11, dynamic_quantize},
    {"", "MatMulInteger", 10, matmul_integer},
    {"", "QLinearConv", 10, qlinear_conv},
    {"", "QLinearMatMul", 10, qlinear_matmul},
    {"", "QuantizeLinear", 10, quantize},
    {"com.microsoft", "DequantizeLinear", 1, dequantize},
    {"com.microsoft", "DynamicQuantizeMatMul", 1, dynamic_quantize_matmul},
    {"com.microsoft", "MatMulIntegerToFloat", 1, matmul_integer_to_float},
    {"com.microsoft", "MatMulNBits", 1, matmul_n_bits},
    {"com.microsoft", "QGemm", 1, qgemm},
    {"com.microsoft", "QLinearAdd", 1, qlinear_binary},
    {"com.microsoft", "QLinearAveragePool", 1, qlinear_average_pool},
    {"com.microsoft", "QLinearConcat", 1, qlinear_concat},
    {"com.microsoft", "QLinearConv", 1, qlinear_conv},
    {"com.microsoft", "QLinearGlobalAveragePool", 1, qlinear_global_pool},
    {"com.microsoft", "QLinearLeakyRelu", 1, qlinear_unary},
    {"com.microsoft", "QLinearMul", 1, qlinear_binary},
    {"com.microsoft", "QLinearSigmoid", 1, qlinear_unary},
    {"com.microsoft", "QLinearSoftmax", 1, qlinear_unary},
    {"com.microsoft", "QuantizeLinear", 1, quantize},
};

}  // namespace

std::span<const OpRule> quantization_rules() { return kRules; }

}  // namespace ullage::onnx
