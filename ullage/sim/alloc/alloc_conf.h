// AllocConf: the settings of PyTorch's caching allocator, as written in PYTORCH_CUDA_ALLOC_CONF (now
// PYTORCH_ALLOC_CONF).
//
//   parse_alloc_conf("max_split_size_mb:128,expandable_segments:True")
//   parse_alloc_conf("roundup_power2_divisions:[256:1,512:2,>:8]")
//
// Keys that only change locking or pinned host memory are accepted and have no effect here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"

namespace ullage {

// A PyTorch release as major * 100 + minor: rules that changed say since when.
inline constexpr int kNewestTorch = 215;

struct AllocConf {
  std::optional<Bytes> max_split_size;  // blocks of at least this are "oversize" and never split
  // Entry i holds for sizes in [2^(20+i), 2^(21+i)), entry 0 for everything below 2 MiB as well, the last for all
  // above.
  std::array<int64_t, 16> roundup_divisions{};
  double garbage_collection_threshold = 0;  // works only with a memory fraction
  bool expandable_segments = false;
  Bytes large_segment_size = MiB(20);
  Bytes max_non_split_rounding = MiB(20);  // how much larger an oversize block may be than its request
  std::optional<double> memory_fraction;   // per_process_memory_fraction, or set_per_process_memory_fraction()
};

// `torch` decides where the meaning of a text changed between releases.
Result<AllocConf> parse_alloc_conf(std::string_view text, int torch = kNewestTorch);

}  // namespace ullage
