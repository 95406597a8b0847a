// Rewrites of a draft: from how ONNX had to spell an op to how the program called it. Each leaves a draft that means
// the same.
//
//   collapse   several nodes that came from one ATen call (the exporter's metadata say so)       Sigmoid, Mul → silu_
//   fuse       the same from patterns, in files that say nothing                                  MatMul, Add → linear
#pragma once

#include <vector>

#include "ullage/importers/onnx/lower/draft.h"

namespace ullage::onnx {

class Lowering;

void collapse(Lowering& lowering);
void fuse(Lowering& lowering);

// How often each value is read by steps that are not dropped, or is an output of the graph; by DraftId index.
std::vector<int> read_counts(const Draft& draft);
// Drops the steps whose results nobody reads.
void drop_dead_steps(Draft& draft);

}  // namespace ullage::onnx
