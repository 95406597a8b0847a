#include "ullage/eager/workspace.h"

#include <algorithm>

namespace ullage::eager {
namespace {

int64_t product(const std::array<int64_t, 3>& a) { return a[0] * a[1] * a[2]; }

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Workspace CudnnModel::convolution(const ConvProblem& p, Direction direction) const {
  // First version: NHWC copies of what the kernel reads and of a gradient that it writes.
  if (p.groups > 1 && p.groups == p.in_channels) return {};
  if (p.channels_last) return {};
  const int64_t size = bits_of(p.dtype) / 8;
  const int64_t vector = 16 / size;
  const int64_t x = p.batch * round_up(p.in_channels, vector) * product(p.input) * size;
  const int64_t y = p.batch * round_up(p.out_channels, vector) * product(p.output) * size;
  const int64_t w = p.out_channels * round_up(p.in_channels / p.groups, vector) * product(p.kernel) * size;
  const bool reads_tf32 = p.dtype == DType::f32 && p.compute_capability >= 80 && p.allow_tf32;
  if (p.dtype == DType::f32 && !reads_tf32) return {};
  const int64_t both = x + y + w + 16;
  const int64_t expected = direction == Direction::forward && p.dtype == DType::f32 ? x + w + 16 : both;
  return {Bytes(expected), Bytes(0), Bytes(both + w * 32)};
}

}  // namespace ullage::eager
