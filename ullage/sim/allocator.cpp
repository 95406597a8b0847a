#include "ullage/sim/allocator.h"

#include <algorithm>

#include "ullage/sim/alloc/alloc_conf.h"
#include "ullage/sim/alloc/alloc_ideal.h"
#include "ullage/sim/alloc/alloc_pytorch.h"
#include "ullage/sim/alloc/bfc_arena.h"

namespace ullage {

std::optional<AllocatorKind> find_allocator(std::string_view name) {
  for (size_t i = 0; i < kAllocatorNames.size(); ++i) {
    if (kAllocatorNames[i] == name) return static_cast<AllocatorKind>(i);
  }
  return std::nullopt;
}

Result<std::unique_ptr<Allocator>> make_allocator(const AllocatorOptions& options) {
  if (options.kind != AllocatorKind::pytorch && !options.alloc_conf.empty()) {
    return fail(ErrorCode::invalid_argument, "PYTORCH_CUDA_ALLOC_CONF settings are for the allocator \"pytorch\" only",
                "alloc-conf");
  }
  switch (options.kind) {
    case AllocatorKind::ideal:
      return std::make_unique<IdealAllocator>(options.capacity);
    case AllocatorKind::bfc:
      // Growth: what the program needs. TensorFlow's default of taking the whole limit at once answers nothing.
      return std::make_unique<BfcArena>(tensorflow_rules(options.capacity, true), options.capacity);
    case AllocatorKind::ort:
      return std::make_unique<BfcArena>(ort_rules(options.capacity), options.capacity);
    case AllocatorKind::pytorch:
      break;
  }
  auto conf = parse_alloc_conf(options.alloc_conf);
  if (!conf) return tl::unexpected(std::move(conf).error().at("alloc-conf"));
  return std::make_unique<PytorchAllocator>(PytorchOptions{
      .conf = *conf, .capacity = options.capacity, .device_total = options.device_total, .timing = options.timing});
}

}  // namespace ullage
