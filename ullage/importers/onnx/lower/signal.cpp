// DFT, STFT, window functions, MelWeightMatrix, Col2Im. ONNX keeps a complex number as two reals in the last dim.

#include <algorithm>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

Status dft(Call& c) {
  if (!c.has(0) || c.rank(0) < 2) return c.error("the input has no dim for real and imaginary parts");
  Sizes y = c.sizes(0);
  const DType dtype = c.dtype(0);
  // The axis is an attribute (default 1) until opset 19, then an input (default -2).
  int64_t given = c.opset() < 20 ? c.attr("axis", 1) : -2;
  if (c.opset() >= 20 && c.number(2)) given = static_cast<int64_t>(*c.number(2));
  UL_TRY(const int axis, c.axis(given, y.rank()));
  const bool from_real = y[-1] == Size(1);
  const bool inverse = c.attr("inverse", 0) != 0;
  if (c.number(1)) y[axis] = static_cast<int64_t>(*c.number(1));
  if (c.attr("onesided", 0)) y[axis] = floor_div(y[axis], Size(2)) + Size(1);
  y[-1] = 2;
  return c.result(
      from_real && !inverse ? "fft_r2c" : "fft_c2c", {c.id(0)}, dtype, y,
      {{"dim", std::vector<int64_t>{axis}}, {from_real && !inverse ? "onesided" : "forward", int64_t{!inverse}}});
}

Status stft(Call& c) {  // signal, frame_step, window, frame_length
  if (!c.has(0) || !c.number(1) || c.rank(0) < 2) return c.error("the signal or frame_step is missing");
  const Sizes x = c.sizes(0);
  const DType dtype = c.dtype(0);
  const auto step = static_cast<int64_t>(*c.number(1));
  Size length = c.has(2) ? c.sizes(2)[0] : Size(0);
  if (c.number(3)) length = static_cast<int64_t>(*c.number(3));
  if (step < 1 || length.now < 1 || length.now > x[1].now) return c.error("a frame that does not fit the signal");
  const Size frames = floor_div(x[1] - length, Size(step)) + Size(1);
  const Size bins = c.attr("onesided", 1) ? floor_div(length, Size(2)) + Size(1) : length;
  const Sizes framed{x[0], frames, length};
  DraftId frame =
      c.step("unfold", {c.id(0)}, dtype, framed, {{"dimension", int64_t{1}}, {"size", length.now}, {"step", step}});
  if (c.has(2)) frame = c.step("mul", {frame, c.id(2)}, dtype, framed);
  return c.result("fft_r2c", {frame}, dtype, Sizes{x[0], frames, bins, Size(2)},
                  {{"dim", std::vector<int64_t>{2}}, {"onesided", c.attr("onesided", 1)}});
}

Status window(Call& c) {
  UL_TRY(const std::vector<Size> size, c.known(0, "size"));
  if (size.size() != 1) return c.error("size is not one number");
  return c.result("full", {}, dtype_of(static_cast<int32_t>(c.attr("output_datatype", 1))), Sizes{size[0]});
}

Status mel_weights(Call& c) {
  UL_TRY(const std::vector<Size> bins, c.known(0, "num_mel_bins"));
  UL_TRY(const std::vector<Size> length, c.known(1, "dft_length"));
  if (bins.size() != 1 || length.size() != 1) return c.error("num_mel_bins or dft_length is not one number");
  return c.result("full", {}, dtype_of(static_cast<int32_t>(c.attr("output_datatype", 1))),
                  Sizes{floor_div(length[0], Size(2)) + Size(1), bins[0]});
}

Status col2im(Call& c) {
  if (!c.has(0) || c.rank(0) != 3) return c.error("wants [N, C·block, L]");
  UL_TRY(const std::vector<Size> image, c.known(1, "image_shape"));
  UL_TRY(const std::vector<Size> block, c.known(2, "block_shape"));
  Size area = 1;
  std::vector<int64_t> kernel;
  for (const Size s : block) {
    area = area * s;
    kernel.push_back(s.now);
  }
  if (area.now < 1 || image.size() + 2 > kMaxRank) return c.error("a block of no size");
  Sizes y{c.sizes(0)[0], floor_div(c.sizes(0)[1], area)};
  for (const Size s : image) y.push(s);
  std::vector<int64_t> output_size = as_ints(Sizes(image));
  return c.result("col2im", {c.id(0)}, c.dtype(0), y,
                  {{"output_size", output_size},
                   {"kernel_size", kernel},
                   {"dilation", c.ints("dilations")},
                   {"padding", c.ints("pads")},
                   {"stride", c.ints("strides")}});
}

constexpr OpRule kRules[] = {
    {"", "BlackmanWindow", 17, window},
    {"", "Col2Im", 18, col2im},
    {"", "DFT", 17, dft},
    {"", "HammingWindow", 17, window},
    {"", "HannWindow", 17, window},
    {"", "MelWeightMatrix", 17, mel_weights},
    {"", "STFT", 17, stft},
};

}  // namespace

std::span<const OpRule> signal_rules() { return kRules; }

}  // namespace ullage::onnx
