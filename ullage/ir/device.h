// Device: a card, as far as memory is concerned: what it can hold, what a process loses before its first tensor, and
// the few properties that library heuristics look at.
//
//   UL_TRY(const Device device, find_device("rtx 3090"));        // also "3090", "RTX3090", "geforce rtx 3090"
//   device.usable                                                // 25438126080 B: what PyTorch reports as total
//   Device capped = capacity_only(GiB(24));                      // --capacity 24GiB: no card in particular
//
// The rows come from data/devices.json, which is compiled in; each names its source there. Not a performance model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"

namespace ullage {

struct ComputeCapability {
  int major = 0;  // 0.0: not a CUDA card, or unknown
  int minor = 0;
  constexpr auto operator<=>(const ComputeCapability&) const = default;
};

struct ByteRange {
  Bytes low, high;
  constexpr bool operator==(const ByteRange&) const = default;
  constexpr Bytes middle() const { return Bytes(low.value + (high.value - low.value) / 2); }
};

struct Device {
  std::string id;                    // "rtx3090"; "" for capacity_only
  std::string name;                  // "GeForce RTX 3090"
  std::vector<std::string> aliases;  // other ids that people type
  Bytes nominal;                     // what is printed on the box
  Bytes driver_total;                // what nvidia-smi shows as total; 0 where not known
  Bytes usable;                      // what the driver hands to processes: PyTorch's "total capacity"
  ComputeCapability compute_capability;
  int sms = 0;
  int64_t bandwidth = 0;  // bytes a second
  Bytes l2;
  ByteRange context;  // a PyTorch process before its first tensor, code loaded lazily (see context_memory.h)
  std::string source;

  // Kept by driver and firmware: inside nvidia-smi's "used" for the whole card, outside every process. 0 where not
  // known.
  Bytes driver_reserve() const { return driver_total.value > 0 ? driver_total - usable : Bytes(); }
};

// Hardware limits that follow from the compute capability (CUDA's own table).
int max_threads_per_sm(ComputeCapability capability);

// All rows, in the order of the file.
const std::vector<Device>& all_devices();

// By id, alias or name; case, blanks, '-' and '_' do not matter. The error suggests the nearest id.
Result<Device> find_device(std::string_view text);

// A card of which only the capacity is given. It computes like the A100 of the reference runs: that is an assumption
// to report, not a fact.
Device capacity_only(Bytes capacity);

}  // namespace ullage
