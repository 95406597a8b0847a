// The measured part of the workspace model: decision trees whose leaves say what the plan of such a convolution keeps.
//
//   PlanTable t = plan_table();     // t.roots[mode][direction] is where to start; a child below 0 is leaf -1 - child
//
// Only data; workspace.cpp asks the questions. workspace_table.cpp is generated.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ullage::eager {

// Properties of a problem that a question may ask for, in the order of FEATURES in tools/workspace/fit.py.
enum class Feature : uint8_t {
  capability,
  sms,
  batch,
  in_per_group,
  out_per_group,
  groups,
  kernel_area,
  stride,
  in_extent,
  out_area,
  out_positions,
  in_mod8,
  out_mod8,
  out_area_mod8,
  x_kib,
  y_kib,
  w_kib,
  spatial_dims,
  transposed,
  bf16,
  gemm_k,
  pad
};
inline constexpr int kFeatureCount = 22;

struct PlanQuestion {
  Feature feature;
  int64_t at_most;  // go low when the feature is not above this
  int16_t low, high;
};

struct PlanLeaf {
  uint8_t copies;           // 1: x, 2: y, 4: w, as copies in the kernel's own layout
  bool padded;              // of channels, to 16 bytes
  int16_t partial_results;  // float32 copies of what is written, for work split along the reduction
  int32_t low, high;  // recorded minus predicted, in thousandths of the operands' bytes: 2.5 % and 97.5 % quantiles
  int32_t records;
};

enum class PlanMode : uint8_t { tf32, half, full, tf32_nhwc, half_nhwc };

struct PlanTable {
  std::span<const PlanQuestion> questions;
  std::span<const PlanLeaf> leaves;
  std::array<std::array<int16_t, 3>, 5> roots;  // by mode and direction
};

PlanTable plan_table();

}  // namespace ullage::eager
