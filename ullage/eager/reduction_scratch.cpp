#include "ullage/eager/reduction_scratch.h"

#include <algorithm>
#include <array>
#include <bit>

#include "ullage/ir/device.h"

namespace ullage::eager {
namespace {

struct Dim {
  int64_t size;
  int64_t in;   // stride in the input
  int64_t out;  // stride in the output, 0 when reduced
};

// Dims as the kernel sees them: reduced ones first, fastest first, neighbours merged where one stride serves both.
struct Dims {
  std::array<Dim, kMaxRank> dim;
  int rank = 0;
  int reduced = 0;
};

// TensorIterator::reorder_dimensions: negative when a belongs before b, 0 when the strides do not say.
int compare(const Dim& a, const Dim& b) {
  if ((a.out == 0) != (b.out == 0)) return a.out == 0 ? -1 : 1;
  for (const auto& [sa, sb] : {std::pair(a.out, b.out), std::pair(a.in, b.in)}) {
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (a.size != b.size) return a.size < b.size ? -1 : 1;
  }
  return 0;
}

Dims order_dims(const Reduction& r) {
  Dims out;
  int64_t out_stride = 1;
  // From the innermost dim outwards, which is the order that ties keep.
  for (int d = r.sizes.rank() - 1; d >= 0; --d) {
    const bool reduced = r.reduced.test(static_cast<size_t>(d));
    const Dim dim{r.sizes[d], r.strides[d], reduced ? 0 : out_stride};
    if (!reduced) out_stride *= r.sizes[d];
    if (dim.size == 1) continue;
    out.dim[static_cast<size_t>(out.rank++)] = dim;
  }
  // Insertion sort that passes over dims without an order, as ATen's does.
  for (int i = 1; i < out.rank; ++i) {
    int at = i;
    for (int before = i - 1; before >= 0; --before) {
      const int order = compare(out.dim[static_cast<size_t>(before)], out.dim[static_cast<size_t>(at)]);
      if (order > 0) {
        std::swap(out.dim[static_cast<size_t>(before)], out.dim[static_cast<size_t>(at)]);
        at = before;
      } else if (order < 0) {
        break;
      }
    }
  }
  int last = 0;
  for (int i = 1; i < out.rank; ++i) {
    Dim& a = out.dim[static_cast<size_t>(last)];
    const Dim& b = out.dim[static_cast<size_t>(i)];
    if (a.size * a.in == b.in && a.size * a.out == b.out) {
      a.size *= b.size;
    } else {
      out.dim[static_cast<size_t>(++last)] = b;
    }
  }
  if (out.rank > 0) out.rank = last + 1;
  for (int i = 0; i < out.rank; ++i) out.reduced += out.dim[static_cast<size_t>(i)].out == 0;
  return out;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How many neighbouring outputs (4, 2 or 1) one thread can serve with one load.
int64_t outputs_at_once(const Dims& dims) {
  int64_t width = 4;
  const auto divide = [&width](int64_t n) {
    while (n % width != 0) width /= 2;
  };
  divide(dims.dim[static_cast<size_t>(dims.reduced)].size);
  for (int i = 0; i < dims.rank; ++i) {
    if (i != dims.reduced) divide(dims.dim[static_cast<size_t>(i)].in);
  }
  return width;
}

int64_t power_of_two_within(int64_t n, int64_t limit) {
  return n < limit ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(n, 1)))) : limit;
}

// Reduce.cuh's constants.
constexpr int64_t kThreads = 512;
constexpr int64_t kWarp = 32;
constexpr int64_t kMinValuesPerThread = 16;
constexpr int64_t kMaxValuesPerThread = 256;
constexpr int64_t kWorthVectorizing = 128;

}  // namespace

ReductionScratch reduction_scratch(const Reduction& r, int compute_capability, int sm_count) {
  const Dims dims = order_dims(r);
  int64_t outputs = 1;
  int64_t inputs = 1;
  for (int i = 0; i < dims.rank; ++i) {
    const Dim& d = dims.dim[static_cast<size_t>(i)];
    (d.out == 0 ? inputs : outputs) *= d.size;
  }
  if (inputs <= 1 || outputs <= 0) return {};

  const Dim& kept = dims.dim[static_cast<size_t>(std::min(dims.reduced, dims.rank - 1))];
  const bool along_input = dims.reduced == dims.rank || dims.dim[0].in < kept.in;
  int64_t dim0 = along_input ? inputs : outputs;
  const int64_t dim1 = along_input ? outputs : inputs;
  int64_t width = 1;
  if ((along_input ? dims.dim[0].in : kept.in) == 1) {
    if (!along_input) {
      width = outputs_at_once(dims);
      dim0 /= width;
    } else if (dim0 > kWorthVectorizing && dims.rank == 1) {
      dim0 /= r.values_at_once;
    }
  }

  const int64_t limit = kThreads / width;
  const int64_t pow0 = power_of_two_within(dim0, limit);
  const int64_t pow1 = power_of_two_within(dim1, limit);
  int64_t block_x = std::min(pow0, kWarp);
  const int64_t block_y = std::min(pow1, limit / block_x);
  block_x = std::min(pow0, limit / block_y);

  int64_t step_input = along_input ? block_x : 1;
  int64_t step_output = along_input ? 1 : block_x;
  int64_t values_per_thread = ceil_div(inputs, step_input);
  const bool warps_share_inputs =
      values_per_thread >= block_y * kMinValuesPerThread || values_per_thread >= kMaxValuesPerThread;
  (warps_share_inputs ? step_input : step_output) *= block_y;
  values_per_thread = ceil_div(inputs, step_input);

  const int64_t columns = ceil_div(outputs / width, step_output);
  const ComputeCapability capability{compute_capability / 10, compute_capability % 10};
  const int64_t resident = sm_count * (max_threads_per_sm(capability) / (block_x * block_y));
  if (!warps_share_inputs || values_per_thread < kMaxValuesPerThread || columns > resident) return {};
  const int64_t blocks =
      std::max(std::min(ceil_div(resident, columns), ceil_div(values_per_thread, kMinValuesPerThread)),
               ceil_div(values_per_thread, kMaxValuesPerThread));
  if (blocks <= 1) return {};
  const int64_t per_output = along_input ? 1 : block_x * width;
  return {Bytes(r.accumulator_bytes * outputs * blocks * per_output), Bytes(4 * columns)};
}

}  // namespace ullage::eager
