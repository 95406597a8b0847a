#include "ullage/eager/workspace.h"

#include <algorithm>
#include <numeric>

#include "ullage/eager/workspace_table.h"

namespace ullage::eager {
namespace {

int64_t product(const std::array<int64_t, 3>& a) { return saturating_mul(saturating_mul(a[0], a[1]), a[2]); }

int64_t largest(const std::array<int64_t, 3>& a) { return *std::max_element(a.begin(), a.end()); }

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Bytes of input, output and weight when an element takes `size` and channels are padded to `vector` elements.
struct Operands {
  int64_t x, y, w;
  int64_t sum() const { return saturating_add(saturating_add(x, y), w); }
};

Operands operands(const ConvProblem& p, int64_t size, int64_t vector) {
  const auto bytes = [size](int64_t outer, int64_t channels, int64_t area) {
    return saturating_mul(saturating_mul(saturating_mul(outer, channels), area), size);
  };
  const int64_t filters = p.transposed ? p.in_channels : p.out_channels;
  const int64_t depth = (p.transposed ? p.out_channels : p.in_channels) / p.groups;
  return {bytes(p.batch, round_up(p.in_channels, vector), product(p.input)),
          bytes(p.batch, round_up(p.out_channels, vector), product(p.output)),
          bytes(filters, round_up(depth, vector), product(p.kernel))};
}

PlanMode mode_of(const ConvProblem& p) {
  const bool half = p.dtype != DType::f32;
  if (half) return p.channels_last ? PlanMode::half_nhwc : PlanMode::half;
  if (!p.allow_tf32 || p.compute_capability < 80) return PlanMode::full;
  return p.channels_last ? PlanMode::tf32_nhwc : PlanMode::tf32;
}

using Features = std::array<int64_t, kFeatureCount>;

// In the order of Feature.
Features features_of(const ConvProblem& p, const Operands& plain) {
  const int64_t in = p.in_channels / p.groups;
  const int64_t out = p.out_channels / p.groups;
  const int64_t area = product(p.output);
  return {p.compute_capability,
          p.sm_count,
          p.batch,
          in,
          out,
          p.groups,
          product(p.kernel),
          largest(p.stride),
          p.input[2],
          area,
          p.batch * area,
          in % 8,
          out % 8,
          area % 8,
          plain.x / 1024,
          plain.y / 1024,
          plain.w / 1024,
          p.spatial_dims,
          p.transposed,
          p.dtype == DType::bf16,
          in * product(p.kernel),
          largest(p.pad)};
}

const PlanLeaf& find_leaf(const PlanTable& table, int at, const Features& features) {
  while (at >= 0) {
    const PlanQuestion& q = table.questions[static_cast<size_t>(at)];
    at = features[static_cast<size_t>(q.feature)] <= q.at_most ? q.low : q.high;
  }
  return table.leaves[static_cast<size_t>(-1 - at)];
}

// Kernels of PyTorch itself that take nothing: float32 convolutions in which every channel has its own filters.
bool is_native_depthwise(const ConvProblem& p) {
  return p.dtype == DType::f32 && !p.transposed && !p.channels_last && p.groups > 1 && p.groups == p.in_channels &&
         p.out_channels % p.in_channels == 0;
}

}  // namespace

Workspace CudnnModel::convolution(const ConvProblem& p, Direction direction) const {
  const bool known = p.dtype == DType::f32 || p.dtype == DType::f16 || p.dtype == DType::bf16;
  if (!known || p.groups <= 0 || is_native_depthwise(p)) return {};
  const int64_t size = bits_of(p.dtype) / 8;
  const Operands plain = operands(p, size, 1);
  const PlanTable table = plan_table();
  const int root = table.roots[static_cast<size_t>(mode_of(p))][static_cast<size_t>(direction)];
  const PlanLeaf& leaf = find_leaf(table, root, features_of(p, plain));

  const Operands copies = leaf.padded ? operands(p, size, 16 / size) : plain;
  int64_t bytes = 0;
  if (leaf.copies & 1) bytes = saturating_add(bytes, copies.x);
  if (leaf.copies & 2) bytes = saturating_add(bytes, copies.y);
  if (leaf.copies & 4) bytes = saturating_add(bytes, copies.w);
  const Operands single = operands(p, 4, 1);
  const int64_t written = direction == Direction::forward         ? single.y
                          : direction == Direction::data_gradient ? single.x
                                                                  : single.w;
  bytes = saturating_add(bytes, saturating_mul(leaf.partial_results, written));
  // Per mille after dividing, so that huge operands do not overflow.
  const auto beyond = [&](int64_t per_mille) { return Bytes(bytes) + Bytes(plain.sum() / 1000) * per_mille; };
  return {Bytes(bytes), std::max(beyond(leaf.low), Bytes()), beyond(leaf.high)};
}

}  // namespace ullage::eager
