#include "ullage/ir/context_memory.h"

namespace ullage {
namespace {

// The whole code of PyTorch and cuDNN loaded at start. Reported for PyTorch 1.4 to 1.12: 721 MB (GTX 1080), 723 to 800
// MB (Turing and Volta), 1008 MB (Titan V), 1687 MB (RTX 3090). One machine, one version, both ways: 616 MiB eager and
// 254 MiB lazy.
ByteRange eager_code(ComputeCapability capability) {
  if (capability >= ComputeCapability{8, 0}) return {MiB(1000), MiB(1700)};
  if (capability >= ComputeCapability{6, 0}) return {MiB(600), MiB(1000)};
  return {MiB(200), MiB(700)};
}

constexpr CudaVersion kFirstLazyLoading{11, 7};

}  // namespace

ByteRange context_memory(const Device& device, const ContextOptions& options) {
  if (device.compute_capability.major == 0) return device.context;  // not CUDA: the row's own range is all we have
  const bool lazy = options.lazy_loading && options.cuda >= kFirstLazyLoading;
  return lazy ? device.context : eager_code(device.compute_capability);
}

}  // namespace ullage
