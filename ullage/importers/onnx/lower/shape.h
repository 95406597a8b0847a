// What operators that change sizes share.
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

std::vector<int64_t> as_ints(const Sizes& sizes);
// x, or a view of it with size-1 dims repeated.
DraftId expand_to(Call& c, DraftId x, const Sizes& sizes);

}  // namespace ullage::onnx
