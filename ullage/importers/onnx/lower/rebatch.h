// Re-batching: where a constant of the file (a Reshape target, an Expand size) froze the batch, find the place where
// the batch belongs.
//
//   was   [1,196,768] → Reshape [1,196,12,64]        now  [8,196,768] → [8,196,12,64]
//
// Sizes of input and target are cut into the smallest runs with equal products at the old batch; a run whose input grew
// gives its factor to the target dim that stands where the grown dim stood, else to the run's first dim. What does not
// divide is refused.
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

// The sizes that `from` takes when reshaped to `target` (at most one −1; zeros already resolved).
Result<Sizes> reshaped(Call& call, const Sizes& from, std::vector<Size> target);
// The sizes of Expand(from, target).
Result<Sizes> expanded(Call& call, const Sizes& from, std::vector<Size> target);

}  // namespace ullage::onnx
