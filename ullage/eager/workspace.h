// WorkspaceOracle: how much memory cuDNN takes while one convolution runs, for the plan that PyTorch picks.
//
//   const CudnnModel oracle;
//   oracle.convolution(problem, Direction::forward).expected        // 24.8 MiB for 32x64x56x56, 128 filters 3x3,
//   float32
//
// PyTorch allocates it right after the output (or the gradient) and frees it when the call returns. In backward the
// gradient of the input comes first, then that of the weight: the two workspaces never overlap.
// A model of cuDNN 9.26 as PyTorch 2.15 asks it (no benchmark mode), not cuDNN: see docs/workspace.md for how near it
// is.
#pragma once

#include <array>
#include <cstdint>

#include "ullage/base/bytes.h"
#include "ullage/ir/dtype.h"

namespace ullage::eager {

enum class Direction : uint8_t { forward, data_gradient, weight_gradient };

// Spatial fields run from the outermost dim (depth, height, width); 2-D uses the last two, 1-D the last one, and the
// unused ones stay at extent 1, stride 1, pad 0.
struct ConvProblem {
  DType dtype = DType::f32;
  bool allow_tf32 = true;
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  std::array<int64_t, 3> input = {1, 1, 1};
  std::array<int64_t, 3> output = {1, 1, 1};
  std::array<int64_t, 3> kernel = {1, 1, 1};
  std::array<int64_t, 3> stride = {1, 1, 1};
  std::array<int64_t, 3> pad = {0, 0, 0};
  std::array<int64_t, 3> dilation = {1, 1, 1};
  int64_t groups = 1;
  bool transposed = false;     // conv_transpose: in_channels is still what x has
  bool channels_last = false;  // x or w lies in memory as NHWC (NDHWC)
  int spatial_dims = 2;
  int compute_capability = 80;  // 10 * major + minor
  int sm_count = 108;
};

struct Workspace {
  Bytes expected;
  Bytes low, high;  // what nineteen of twenty problems of this class stay within
};

class WorkspaceOracle {
 public:
  virtual ~WorkspaceOracle() = default;
  virtual Workspace convolution(const ConvProblem& problem, Direction direction) const = 0;
};

// --cudnn off: no workspace at all.
class NoWorkspace final : public WorkspaceOracle {
 public:
  Workspace convolution(const ConvProblem&, Direction) const override { return {}; }
};

// --cudnn model.
class CudnnModel final : public WorkspaceOracle {
 public:
  Workspace convolution(const ConvProblem& problem, Direction direction) const override;
};

}  // namespace ullage::eager
