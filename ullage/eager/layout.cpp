#include "ullage/eager/layout.h"

namespace ullage::eager {

Strides contiguous_strides(const Shape& sizes) {
  Strides strides = sizes;
  int64_t step = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    strides.set(d, step);
    step = saturating_mul(step, std::max<int64_t>(sizes[d], 1));
  }
  return strides;
}

Strides channels_last_strides(const Shape& sizes) {
  Strides strides = sizes;
  int64_t step = 1;
  const auto put = [&](int d) {
    strides.set(d, step);
    step = saturating_mul(step, std::max<int64_t>(sizes[d], 1));
  };
  put(1);
  for (int d = sizes.rank() - 1; d >= 2; --d) put(d);
  put(0);
  return strides;
}

bool is_contiguous(const Shape& sizes, const Strides& strides) {
  int64_t step = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    if (sizes[d] == 0) return true;
    if (strides[d] != step) return false;
    step = saturating_mul(step, sizes[d]);
  }
  return true;
}

bool is_channels_last(const Shape& sizes, const Strides& strides) {
  if (sizes.rank() != 4 && sizes.rank() != 5) return false;
  int64_t step = 1;
  const auto fits = [&](int d) {
    if (sizes[d] == 1) return true;
    const bool ok = strides[d] == step;
    step = saturating_mul(step, sizes[d]);
    return ok;
  };
  bool ok = fits(1);
  for (int d = sizes.rank() - 1; d >= 2; --d) ok = fits(d) && ok;
  return fits(0) && ok;
}

MemoryFormat suggested_format(const Shape& sizes, const Strides& strides) {
  const int rank = sizes.rank();
  if ((rank != 4 && rank != 5) || strides[1] == 0) return MemoryFormat::contiguous;
  int64_t least = 0;
  for (int i = 0; i < rank; ++i) {
    const int d = i == 0 ? 1 : i == rank - 1 ? 0 : rank - i;  // 1, innermost to outermost spatial dim, 0
    if (sizes[d] == 0 || strides[d] < least) return MemoryFormat::contiguous;
    if (d == 0 && least == strides[1]) return MemoryFormat::contiguous;  // N111: both formats, so the default
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return MemoryFormat::channels_last;
}

bool is_non_overlapping_and_dense(const Shape& sizes, const Strides& strides) {
  if (is_contiguous(sizes, strides)) return true;
  std::array<int, kMaxRank> order{};
  int count = 0;
  for (int d = 0; d < sizes.rank(); ++d) {
    if (sizes[d] != 1) order[static_cast<size_t>(count++)] = d;
  }
  std::sort(order.begin(), order.begin() + count, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (int i = 0; i < count; ++i) {
    const int d = order[static_cast<size_t>(i)];
    if (strides[d] != step) return false;
    step = saturating_mul(step, sizes[d]);
  }
  return true;
}

std::optional<Strides> view_strides(const Shape& sizes, const Strides& strides, const Shape& target) {
  if (sizes.numel() == 0) return contiguous_strides(target);
  Strides out = target;
  if (sizes.rank() == 0) {
    for (int d = 0; d < target.rank(); ++d) out.set(d, 1);
    return out;
  }
  // Walks runs of input dims that lie contiguously in memory ("chunks") from the last dim on; the target's dims must
  // fill each chunk exactly.
  int view_d = target.rank() - 1;
  int64_t chunk_stride = strides[-1];
  int64_t tensor_numel = 1;
  int64_t view_numel = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    tensor_numel *= sizes[d];
    const bool chunk_ends = d == 0 || (sizes[d - 1] != 1 && strides[d - 1] != tensor_numel * chunk_stride);
    if (!chunk_ends) continue;
    while (view_d >= 0 && (view_numel < tensor_numel || target[view_d] == 1)) {
      out.set(view_d, view_numel * chunk_stride);
      view_numel *= target[view_d--];
    }
    if (view_numel != tensor_numel) return std::nullopt;
    if (d > 0) {
      chunk_stride = strides[d - 1];
      tensor_numel = 1;
      view_numel = 1;
    }
  }
  if (view_d != -1) return std::nullopt;
  return out;
}

Strides expand_strides(const Shape& sizes, const Strides& strides, const Shape& target) {
  Strides out = target;
  const int shift = target.rank() - sizes.rank();
  for (int d = 0; d < target.rank(); ++d) {
    const bool kept = d >= shift && sizes[d - shift] == target[d];
    out.set(d, kept ? strides[d - shift] : 0);
  }
  return out;
}

Strides dense_strides(const Shape& sizes, const Strides& strides) {
  return dense_strides(sizes, std::span(&strides, 1));
}

Strides dense_strides(const Shape& sizes, std::span<const Strides> operands) {
  // 1: a comes after b in memory; -1: before; 0: cannot tell (a stride of 0 says nothing).
  const auto compare = [&](int a, int b) {
    for (const Strides& strides : operands) {
      if (strides[a] == 0 || strides[b] == 0) continue;
      if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  std::array<int, kMaxRank> order{};  // innermost first
  const int rank = sizes.rank();
  for (int d = 0; d < rank; ++d) order[static_cast<size_t>(d)] = rank - 1 - d;
  // TensorIterator's insertion sort; a library sort would break ties otherwise.
  for (int i = 1; i < rank; ++i) {
    int moving = i;
    for (int before = i - 1; before >= 0; --before) {
      int& a = order[static_cast<size_t>(before)];
      int& b = order[static_cast<size_t>(moving)];
      const int comparison = compare(a, b);
      if (comparison > 0) {
        std::swap(a, b);
        moving = before;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Strides out = sizes;
  int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    const int d = order[static_cast<size_t>(i)];
    out.set(d, step);
    if (sizes[d] > 1) step = saturating_mul(step, sizes[d]);
  }
  return out;
}

int64_t storage_elements(const Shape& sizes, const Strides& strides) {
  int64_t last = 1;
  for (int d = 0; d < sizes.rank(); ++d) {
    if (sizes[d] == 0) return 0;
    last = saturating_add(last, saturating_mul(sizes[d] - 1, strides[d]));
  }
  return last;
}

}  // namespace ullage::eager
