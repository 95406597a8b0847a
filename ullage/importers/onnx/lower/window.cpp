#include "ullage/importers/onnx/lower/window.h"

#include <algorithm>

#include <fmt/format.h>

namespace ullage::onnx {

Size Window::output(Size in, size_t d) const {
  const Size span = (kernel[d] - 1) * dilation[d] + 1;
  const Size room = in + Size(begin[d] + end[d]) - span;
  Size out = (ceil ? ceil_div(room, Size(stride[d])) : floor_div(room, Size(stride[d]))) + Size(1);
  if (ceil) {  // a window that would start in the padding behind the input is dropped, as PyTorch does
    if ((out.now - 1) * stride[d] >= in.now + begin[d]) --out.now;
    if ((out.was - 1) * stride[d] >= in.was + begin[d]) --out.was;
  }
  return {std::max<int64_t>(out.now, 0), std::max<int64_t>(out.was, 0)};
}

std::vector<int64_t> Window::common_padding() const {
  std::vector<int64_t> common;
  for (size_t d = 0; d < begin.size(); ++d) common.push_back(std::min(begin[d], end[d]));
  return common;
}

std::vector<int64_t> Window::excess_padding() const {
  std::vector<int64_t> pad;
  for (size_t d = begin.size(); d-- > 0;) {
    const int64_t common = std::min(begin[d], end[d]);
    pad.push_back(begin[d] - common);
    pad.push_back(end[d] - common);
  }
  return pad;
}

Result<Window> window_of(const Call& call, const Sizes& input, std::vector<int64_t> kernel) {
  if (input.rank() < 2) return call.error("the input has no spatial dimensions");
  const size_t dims = static_cast<size_t>(input.rank() - 2);
  Window w;
  w.kernel = kernel.empty() ? call.ints("kernel_shape") : std::move(kernel);
  const auto filled = [&](std::string_view name, int64_t otherwise) {
    std::vector<int64_t> list = call.ints(name);
    if (list.empty()) list.assign(dims, otherwise);
    return list;
  };
  w.stride = filled("strides", 1);
  w.dilation = filled("dilations", 1);
  std::vector<int64_t> pads = call.ints("pads");
  if (pads.empty()) pads.assign(2 * dims, 0);
  if (w.kernel.size() != dims || w.stride.size() != dims || w.dilation.size() != dims || pads.size() != 2 * dims) {
    return call.error(
        fmt::format("kernel_shape, strides, dilations and pads do not fit an input of {} spatial dims", dims));
  }
  constexpr int64_t kLimit = int64_t{1} << 31;  // keeps the arithmetic above far from overflow
  for (size_t d = 0; d < dims; ++d) {
    const bool plausible = w.kernel[d] >= 1 && w.stride[d] >= 1 && w.dilation[d] >= 1 && w.kernel[d] < kLimit &&
                           w.stride[d] < kLimit && w.dilation[d] < kLimit && std::abs(pads[d]) < kLimit &&
                           std::abs(pads[dims + d]) < kLimit;
    if (!plausible) return call.error("a kernel size, stride or dilation below 1, or one too large to be meant");
  }
  w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
  w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  w.ceil = call.attr("ceil_mode", 0) != 0;
  const std::string_view automatic = call.text("auto_pad", "NOTSET");
  if (automatic == "VALID") {
    w.begin.assign(dims, 0);
    w.end.assign(dims, 0);
  } else if (automatic.starts_with("SAME")) {
    for (size_t d = 0; d < dims; ++d) {
      const int64_t in = input[static_cast<int>(d) + 2].now;
      const int64_t out = ceil_div(Size(in), Size(w.stride[d])).now;
      const int64_t total = std::max<int64_t>(0, (out - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1 - in);
      w.begin[d] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      w.end[d] = total - w.begin[d];
    }
    w.ceil = false;
  }
  return w;
}

}  // namespace ullage::onnx
