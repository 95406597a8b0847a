// Replaces calls of the file's local functions by their bodies, so that nobody else needs to know about functions.
//
//   before   y = Twice(x) {alpha=2}          Twice(a) → b:  t = Mul(a, a);  b = Elu(t) {alpha=@alpha}
//   after    block/t = Mul(x, x);  y = Elu(block/t) {alpha=2}          // "block" is the name of the call
#pragma once

#include "ullage/base/result.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

// An error for functions that call themselves, and for bodies that grow beyond any real model.
Status inline_functions(FileModel& model);

}  // namespace ullage::onnx
