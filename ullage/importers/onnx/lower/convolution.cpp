// Conv, ConvTranspose, DeformConv → convolution, deform_conv2d.

#include "ullage/importers/onnx/lower/convolution.h"

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/window.h"

namespace ullage::onnx {

Result<Sizes> convolved(const Call& c, const Sizes& x, const Sizes& weight, const Window& window) {
  const int64_t group = c.attr("group", 1);
  if (group < 1 || x.rank() < 3 || weight.rank() != x.rank()) {
    return c.error(
        fmt::format("an input of rank {} and a weight of rank {} do not go together", x.rank(), weight.rank()));
  }
  if (x[1].now != saturating_mul(weight[1].now, group)) {
    return c.error(
        fmt::format("the input has {} channels, the weight wants {}", x[1].now, saturating_mul(weight[1].now, group)));
  }
  Sizes y{x[0], weight[0]};
  for (int d = 2; d < x.rank(); ++d) y.push(window.output(x[d], static_cast<size_t>(d - 2)));
  return y;
}

std::vector<int64_t> kernel_of(const Sizes& weight) {
  std::vector<int64_t> kernel;
  for (int d = 2; d < weight.rank(); ++d) kernel.push_back(weight[d].now);
  return kernel;
}

std::vector<Attr> convolution_attrs(const Call& c, const Window& window, bool transposed,
                                    std::vector<int64_t> output_padding) {
  return {{"stride", window.stride},
          {"padding", window.common_padding()},
          {"dilation", window.dilation},
          {"transposed", int64_t{transposed}},
          {"output_padding", std::move(output_padding)},
          {"groups", c.attr("group", 1)}};
}

DraftId padded(Call& c, DraftId x, const Window& window) {
  if (window.symmetric()) return x;
  Sizes sizes = c.value(x).sizes;
  for (size_t d = 0; d < window.begin.size(); ++d) {
    Size& size = sizes[static_cast<int>(d) + 2];
    size = size + Size(std::abs(window.begin[d] - window.end[d]));
  }
  return c.step("constant_pad_nd", {x}, c.value(x).dtype, sizes, {{"pad", window.excess_padding()}, {"value", 0.0}});
}

namespace {

Status conv(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("input or weight is missing");
  UL_TRY(const Window window, window_of(c, c.sizes(0), kernel_of(c.sizes(1))));
  UL_TRY(const Sizes y, convolved(c, c.sizes(0), c.sizes(1), window));
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  const DraftId x = padded(c, c.id(0), window);
  return c.result("convolution", {x, c.id(1), c.id(2)}, c.dtype(0), y,
                  convolution_attrs(c, window, false, std::vector<int64_t>(window.kernel.size(), 0)));
}

Status conv_transpose(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("input or weight is missing");
  const Sizes& x = c.sizes(0);
  const Sizes& weight = c.sizes(1);
  if (x.rank() < 3 || weight.rank() != x.rank()) return c.error("input and weight of different rank");
  if (x[1].now != weight[0].now) return c.error("the input's channels are not the weight's");
  UL_TRY(Window window, window_of(c, x, kernel_of(weight)));
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  const size_t dims = window.kernel.size();
  std::vector<int64_t> extra = c.ints("output_padding");
  if (extra.empty()) extra.assign(dims, 0);
  const std::vector<int64_t> shape = c.ints("output_shape");
  if (extra.size() != dims || (!shape.empty() && shape.size() != dims)) {
    return c.error("output_padding or output_shape does not fit the spatial dims");
  }
  const bool same = c.text("auto_pad").starts_with("SAME");
  Sizes y{x[0], Size(saturating_mul(weight[1].now, c.attr("group", 1)))};
  for (size_t d = 0; d < dims; ++d) {
    const Size in = x[static_cast<int>(d) + 2];
    const Size span = Size((window.kernel[d] - 1) * window.dilation[d] + 1 + extra[d]);
    Size out = Size(window.stride[d]) * (in - Size(1)) + span;
    if (!shape.empty() || same) {
      const Size wanted = shape.empty() ? in * Size(window.stride[d]) : Size(shape[d]);
      const int64_t total = std::max<int64_t>(0, (out - wanted).now);
      window.begin[d] = window.end[d] = total / 2;
      out = wanted;
    } else {
      out = out - Size(window.begin[d] + window.end[d]);
    }
    y.push(out);
  }
  return c.result("convolution", {c.id(0), c.id(1), c.id(2)}, c.dtype(0), y,
                  convolution_attrs(c, window, true, std::move(extra)));
}

Status deform_conv(Call& c) {  // inputs of the file: X, W, offset, B, mask
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("input, weight or offset is missing");
  UL_TRY(const Window window, window_of(c, c.sizes(0), kernel_of(c.sizes(1))));
  UL_TRY(const Sizes y, convolved(c, c.sizes(0), c.sizes(1), window));
  c.use(c.id(1), Use::weight);
  c.use(c.id(3), Use::weight);
  return c.result("deform_conv2d", {c.id(0), c.id(1), c.id(2), c.id(4), c.id(3)}, c.dtype(0), y,
                  {{"stride", window.stride},
                   {"padding", window.begin},
                   {"dilation", window.dilation},
                   {"groups", c.attr("group", 1)}});
}

constexpr OpRule kRules[] = {
    {"", "Conv", 1, conv}, {"", "ConvTranspose", 1, conv_transpose}, {"", "DeformConv", 19, deform_conv}};

}  // namespace

std::span<const OpRule> convolution_rules() { return kRules; }

}  // namespace ullage::onnx
