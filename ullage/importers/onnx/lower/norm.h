// What normalisations share with fused ones (SkipLayerNormalization).
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

// layer_norm's normalized_shape: the sizes from `axis` on.
std::vector<int64_t> normalized_shape(const Sizes& x, int axis);

}  // namespace ullage::onnx
