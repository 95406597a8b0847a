// What a reduction kernel takes from the allocator while it runs, when the inputs of one output are shared among thread
// blocks: a staging buffer for partial results and a semaphore for every column of blocks. Both come after the output,
// both go when it ends.
//
//   // gradient of a bias: [4096, 768] float32 summed over dim 0, on an A100
//   reduction_scratch({{4096, 768}, {768, 1}, dims(0), 4}, 80, 108)      // {25165824 B, 24 B}
//
// Follows ATen's Reduce.cuh (setReduceConfig, unchanged since 1.5) and TensorIterator's order of dims. Not for cub or
// softmax kernels.
#pragma once

#include <bitset>

#include "ullage/base/bytes.h"
#include "ullage/eager/layout.h"

namespace ullage::eager {

struct Reduction {
  Shape sizes;
  Strides strides;                // of the input
  std::bitset<kMaxRank> reduced;  // which dims; all of them for a full reduction
  int accumulator_bytes = 4;      // sum, mean, amax: 4 for float16 too; max and argmax: with an index 16; var: 16
  int values_at_once = 4;         // vt0: 4, but 2 for var and std
};

struct ReductionScratch {
  Bytes staging;  // 0: none, and no semaphores either
  Bytes semaphores;
  constexpr bool operator==(const ReductionScratch&) const = default;
};

// compute_capability is 10 * major + minor.
ReductionScratch reduction_scratch(const Reduction& reduction, int compute_capability, int sm_count);

}  // namespace ullage::eager
