// What a process takes of a card outside every allocator: the CUDA context and the code of loaded kernels.
//
//   ByteRange taken = context_memory(device, {.cuda = {13, 0}});      // L40S: 300 to 360 MiB
//
// A range, because it grows while kernels load and nobody can compute it. NCCL buffers and CUDA graphs are not in it.
#pragma once

#include "ullage/ir/device.h"

namespace ullage {

struct CudaVersion {
  int major = 13;
  int minor = 0;
  constexpr auto operator<=>(const CudaVersion&) const = default;
};

struct ContextOptions {
  CudaVersion cuda;
  // Kernels are loaded when first used. PyTorch has asked for this since 1.13 (CUDA 11.7); before, it does not exist.
  bool lazy_loading = true;
};

ByteRange context_memory(const Device& device, const ContextOptions& options = {});

}  // namespace ullage
