// DeviceMemory: the driver's side of an allocator. Physical bytes up to a capacity, and addresses for them.
//
//   addresses   |..A..|..B..|        |..C..|                      first fit: the lowest hole that is large enough
//                           ^ the next 2 granules go here
//
// Physical memory comes in granules of 2 MiB, as with cudaMalloc and cuMemCreate. A virtual range (expandable segments)
// takes addresses only; its pages are paid for with take() and give().
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ullage/base/bytes.h"

namespace ullage {

inline constexpr Bytes kDeviceGranule = MiB(2);
inline constexpr int64_t kFirstAddress = int64_t{1} << 32;  // anything but 0, which means "none" in recordings

class DeviceMemory {
 public:
  explicit DeviceMemory(Bytes capacity);

  // cudaMalloc and cudaFree. nullopt: out of memory.
  std::optional<int64_t> allocate(Bytes size);
  void free(int64_t address, Bytes size);

  // cuMemAddressReserve and cuMemAddressFree: no physical memory.
  int64_t reserve_addresses(Bytes size);
  void free_addresses(int64_t address, Bytes size);

  // Physical pages without an address of their own.
  bool take(Bytes size);
  void give(Bytes size);

  Bytes free_bytes() const { return capacity_ - used_; }

 private:
  Bytes capacity_;
  Bytes used_;
  std::map<int64_t, int64_t> holes_;  // start -> size of address ranges not in use
};

}  // namespace ullage
