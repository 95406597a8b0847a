// Window: how a convolution or pooling kernel moves over the spatial dims: sizes, strides, dilations and the four ways
// to pad.
#pragma once

#include <vector>

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

struct Window {
  std::vector<int64_t> kernel, stride, dilation, begin, end;  // one entry per spatial dim
  bool ceil = false;

  // The size that comes out of spatial dim d.
  Size output(Size in, size_t d) const;
  bool symmetric() const { return begin == end; }
  // The padding that PyTorch's op does itself; what is beyond it has to be padded explicitly (`same` convolutions).
  std::vector<int64_t> common_padding() const;
  // F.pad's argument for the rest: last dim first, begin and end of each.
  std::vector<int64_t> excess_padding() const;
};

// Reads kernel_shape (unless `kernel` is given), strides, dilations, pads and auto_pad of the node; `input` is [N, C,
// spatial…].
Result<Window> window_of(const Call& call, const Sizes& input, std::vector<int64_t> kernel = {});

}  // namespace ullage::onnx
