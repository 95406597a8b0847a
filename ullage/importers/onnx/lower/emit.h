// emit: the draft as a Graph: which stored tensors are parameters, buffers or constants, the order in which the model
// owns them, modules.
#pragma once

#include "ullage/base/result.h"
#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {

Result<Graph> emit(Lowering& lowering);

}  // namespace ullage::onnx
