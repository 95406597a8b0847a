// What every kind of convolution shares (Conv, FusedConv, QLinearConv): output sizes, ATen arguments, explicit padding.
#pragma once

#include "ullage/importers/onnx/lower/window.h"

namespace ullage::onnx {

std::vector<int64_t> kernel_of(const Sizes& weight);
Result<Sizes> convolved(const Call& c, const Sizes& x, const Sizes& weight, const Window& window);
std::vector<Attr> convolution_attrs(const Call& c, const Window& window, bool transposed,
                                    std::vector<int64_t> output_padding);
// x, or x behind a constant_pad_nd when the padding is not the same on both sides.
DraftId padded(Call& c, DraftId x, const Window& window);

}  // namespace ullage::onnx
