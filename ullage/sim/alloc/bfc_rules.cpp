// How TensorFlow and ONNX Runtime set up the arena they share.
#include <algorithm>

#include "ullage/sim/alloc/bfc_arena.h"

namespace ullage {

// TSL's BFCAllocator and GPUBFCAllocator: with growth the first region is 2 MiB, otherwise the whole limit.
BfcRules tensorflow_rules(Bytes limit, bool allow_growth) {
  return {.limit = limit, .first_region = allow_growth ? std::min(limit, MiB(2)) : limit};
}

// onnxruntime/core/framework/bfc_arena: initial_chunk_size 1 MiB, initial_growth_chunk_size 2 MiB. It gives memory back
// only when a run option asks for it (arena shrinkage), and then keeps its first region unless it extends exactly.
BfcRules ort_rules(Bytes limit, OrtExtend extend) {
  const bool is_exact = extend == OrtExtend::same_as_requested;
  return {.limit = limit,
          .first_region = std::min(limit, MiB(1)),
          .grows_exactly = is_exact,
          .releases_when_full = false,
          .growth_after_release = is_exact ? Bytes(0) : MiB(2),
          .keeps_first_region = !is_exact};
}

}  // namespace ullage
