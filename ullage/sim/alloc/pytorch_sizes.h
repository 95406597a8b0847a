// The size rules of PyTorch's caching allocator: rounding of a request, and the segment taken for it.
//
//   round_size(Bytes(1200), conf)        1536: a multiple of 512
//   segment_size(MiB(3), conf)           20 MiB: shared with other large requests
//   segment_size(MiB(11), conf)          12 MiB: a segment of its own
//
// Constants are those of c10/cuda/CUDACachingAllocator, unchanged from 1.1 on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ullage/base/bytes.h"
#include "ullage/sim/alloc/alloc_conf.h"

namespace ullage {

inline constexpr Bytes kMinBlock = Bytes(512);  // rounding quantum and smallest block
inline constexpr Bytes kSmallLimit = MiB(1);    // rounded sizes up to this live in the small pool
inline constexpr Bytes kSmallSegment = MiB(2);
inline constexpr Bytes kMinLarge = MiB(10);                     // from here on a request has its own segment,
inline constexpr Bytes kRoundLarge = MiB(2);                    // rounded to this
inline constexpr Bytes kRefusedSize = Bytes(int64_t{1} << 60);  // refused before anything else

inline Bytes round_size(Bytes requested, const AllocConf& conf) {
  if (requested < kMinBlock) return kMinBlock;
  const auto size = static_cast<uint64_t>(requested.value);
  const int entry = std::clamp(static_cast<int>(std::bit_width(size)) - 1 - 20, 0, 15);
  const int64_t divisions = conf.roundup_divisions[static_cast<size_t>(entry)];
  if (divisions > 1 && requested > kMinBlock * divisions) {
    const uint64_t floor = std::bit_floor(size);
    const uint64_t step = floor / std::bit_floor(static_cast<uint64_t>(divisions));
    if (size == floor) return requested;
    return align_up(requested, Bytes(static_cast<int64_t>(step)));
  }
  return align_up(requested, kMinBlock);
}

inline Bytes segment_size(Bytes rounded, const AllocConf& conf) {
  if (rounded <= kSmallLimit) return kSmallSegment;
  if (rounded < kMinLarge) return conf.large_segment_size;
  return align_up(rounded, kRoundLarge);
}

}  // namespace ullage
