// fold: the elements of a small result from the elements of its operands, so that computations of shapes are known at
// import.
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

// The elements of the node's output k, which has `sizes`; null where they cannot be known (or the operator is not
// folded).
ContentPtr fold(const Call& call, size_t k, DType dtype, const Sizes& sizes);

// Operators that make a tensor on the device even from numbers (Range, ConstantOfShape, …).
bool makes_tensor(std::string_view op);

}  // namespace ullage::onnx
