// What binary operators share: broadcasting of every opset, and Python numbers as arguments instead of tensors.
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

// The sizes of inputs 0 and 1 together; before opset 7 by `broadcast` and `axis`.
Result<Sizes> axis_broadcast(const Call& c);
// op(input 0, input 1), a number standing in attr `other`; `reverse_if_left` allows number-op-tensor as attr reverse=1.
Status with_number(Call& c, std::string_view op, const Sizes& sizes, DType dtype, bool reverse_if_left = false,
                   std::vector<Attr> attrs = {});

}  // namespace ullage::onnx
