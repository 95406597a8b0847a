#include "ullage/sim/alloc/device_memory.h"

#include <iterator>

#include "ullage/base/result.h"

namespace ullage {

namespace {

constexpr int64_t kEndAddress = int64_t{1} << 62;

}  // namespace

DeviceMemory::DeviceMemory(Bytes capacity) : capacity_(capacity) {
  holes_.emplace(kFirstAddress, kEndAddress - kFirstAddress);
}

std::optional<int64_t> DeviceMemory::allocate(Bytes size) {
  if (!take(size)) return std::nullopt;
  return reserve_addresses(size);
}

void DeviceMemory::free(int64_t address, Bytes size) {
  give(size);
  free_addresses(address, size);
}

int64_t DeviceMemory::reserve_addresses(Bytes size) {
  const int64_t need = align_up(size, kDeviceGranule).value;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->second < need) continue;
    const auto [start, length] = *hole;
    holes_.erase(hole);
    if (length > need) holes_.emplace(start + need, length - need);
    return start;
  }
  check(false, "the simulated address space is used up");
  return 0;
}

void DeviceMemory::free_addresses(int64_t address, Bytes size) {
  auto hole = holes_.emplace(address, align_up(size, kDeviceGranule).value).first;
  if (const auto after = std::next(hole); after != holes_.end() && hole->first + hole->second == after->first) {
    hole->second += after->second;
    holes_.erase(after);
  }
  if (hole == holes_.begin()) return;
  const auto before = std::prev(hole);
  if (before->first + before->second != hole->first) return;
  before->second += hole->second;
  holes_.erase(hole);
}

bool DeviceMemory::take(Bytes size) {
  const Bytes pages = align_up(size, kDeviceGranule);
  if (pages > free_bytes()) return false;
  used_ += pages;
  return true;
}

void DeviceMemory::give(Bytes size) { used_ -= align_up(size, kDeviceGranule); }

}  // namespace ullage
