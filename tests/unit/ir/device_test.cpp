#include "ullage/ir/device.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ullage/ir/context_memory.h"

namespace ullage {
namespace {

using testing::HasSubstr;

// What the reference runs saw as torch.cuda.get_device_properties(0).total_memory.
TEST(Device, UsableCapacityEqualsThatOfTheReferenceRuns) {
  struct Row {
    const char* id;
    int64_t usable;
    int sms;
    ComputeCapability capability;
  };
  const Row rows[] = {
      {"a100-40g", 42298834944, 108, {8, 0}}, {"rtx3090", 25438126080, 82, {8, 6}},
      {"rtx4090", 25393692672, 128, {8, 9}},  {"h100-80g", 84942979072, 132, {9, 0}},
      {"l40s", 47697035264, 142, {8, 9}},     {"t4", 15828320256, 40, {7, 5}},
  };
  for (const Row& row : rows) {
    const Result<Device> device = find_device(row.id);
    ASSERT_TRUE(device) << row.id;
    EXPECT_EQ(device->usable, Bytes(row.usable)) << row.id;
    EXPECT_EQ(device->sms, row.sms) << row.id;
    EXPECT_EQ(device->compute_capability, row.capability) << row.id;
  }
}

TEST(Device, IsFoundByWhatPeopleType) {
  const std::pair<const char*, const char*> cases[] = {
      {"a100", "a100-40g"},
      {"A100-80GB", "a100-80g"},
      {"rtx 3090", "rtx3090"},
      {"3090", "rtx3090"},
      {"RTX_4090", "rtx4090"},
      {"GeForce RTX 4090", "rtx4090"},
      {"tesla t4", "t4"},
      {"v100", "v100-16g"},
      {"V100 32GB", "v100-32g"},
      {"nvidia l40s", "l40s"},
      {"h100", "h100-80g"},
      {"rtx3060", "rtx3060-12g"},
      {"NVIDIA H200 141GB", "h200"},
      {"a100-40g-1g.5gb", "a100-40g-1g.5gb"},
  };
  for (const auto& [typed, id] : cases) {
    const Result<Device> device = find_device(typed);
    ASSERT_TRUE(device) << typed;
    EXPECT_EQ(device->id, id) << typed;
  }
}

TEST(Device, SuggestsTheNearestNameWhenMistyped) {
  const Result<Device> device = find_device("rtx3o90");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, HasSubstr("rtx3o90"));
  EXPECT_THAT(device.error().hint, HasSubstr("rtx3090"));
  EXPECT_THAT(find_device("quantum-9000-deluxe").error().hint, HasSubstr("list devices"));
}

TEST(Device, EveryRowIsWellFormed) {
  const std::vector<Device>& devices = all_devices();
  EXPECT_GE(devices.size(), 40u);
  std::set<std::string> names;
  for (const Device& d : devices) {
    EXPECT_TRUE(names.insert(d.id).second) << d.id;
    for (const std::string& alias : d.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_GT(d.usable, GiB(1)) << d.id;
    EXPECT_LE(d.usable, d.nominal) << d.id;
    // Driver, firmware and ECC never take more than an eighth of the memory.
    EXPECT_GT(d.usable.value, d.nominal.value - d.nominal.value / 8) << d.id;
    EXPECT_GE(d.driver_reserve(), Bytes(0)) << d.id;
    EXPECT_GT(d.sms, 0) << d.id;
    EXPECT_GT(d.bandwidth, 0) << d.id;
    EXPECT_GT(d.l2.value, 0) << d.id;
    EXPECT_LT(d.context.low, d.context.high) << d.id;
    EXPECT_FALSE(d.source.empty()) << d.id;
    // Its own id, name and aliases find the row itself and no other.
    EXPECT_EQ(find_device(d.id)->id, d.id);
    EXPECT_EQ(find_device(d.name)->id, d.id) << d.name;
    for (const std::string& alias : d.aliases) EXPECT_EQ(find_device(alias)->id, d.id) << alias;
  }
}

TEST(Device, DriverReserveIsTheGapBetweenTheTwoTotals) {
  // nvidia-smi shows 81559 MiB on an H100 80GB of which PyTorch sees 84942979072 B.
  EXPECT_EQ(find_device("h100")->driver_reserve(), MiB(81559) - Bytes(84942979072));
}

TEST(Device, CapacityOnlyIsNoParticularCard) {
  const Device device = capacity_only(GiB(24));
  EXPECT_EQ(device.usable, GiB(24));
  EXPECT_EQ(device.nominal, GiB(24));
  EXPECT_EQ(device.driver_reserve(), Bytes(0));
  EXPECT_TRUE(device.id.empty());
  EXPECT_EQ(device.sms, 108);
}

TEST(Device, ThreadsPerSmFollowCudasTable) {
  EXPECT_EQ(max_threads_per_sm({7, 0}), 2048);
  EXPECT_EQ(max_threads_per_sm({7, 5}), 1024);
  EXPECT_EQ(max_threads_per_sm({8, 0}), 2048);
  EXPECT_EQ(max_threads_per_sm({8, 6}), 1536);
  EXPECT_EQ(max_threads_per_sm({8, 9}), 1536);
  EXPECT_EQ(max_threads_per_sm({9, 0}), 2048);
  EXPECT_EQ(max_threads_per_sm({12, 0}), 1536);
}

// Between NVML's "used" and PyTorch's reserved, public training runs show 1239 to 1355 MiB on H100 and 887 to 935 MiB
// on L40S. That is context and code plus what the driver keeps.
TEST(ContextMemory, WithTheDriversReserveCoversWhatPublicRunsShow) {
  const Device h100 = *find_device("h100-80g");
  EXPECT_LE(h100.driver_reserve() + context_memory(h100).low, MiB(1239));
  EXPECT_GE(h100.driver_reserve() + context_memory(h100).high, MiB(1354));
  const Device l40s = *find_device("l40s");
  EXPECT_LE(l40s.driver_reserve() + context_memory(l40s).low, MiB(887));
  EXPECT_GE(l40s.driver_reserve() + context_memory(l40s).high, MiB(935));
}

TEST(ContextMemory, EagerLoadingTakesWhatOldReleasesTook) {
  const Device rtx3090 = *find_device("rtx3090");
  const ByteRange old = context_memory(rtx3090, {.cuda = {11, 1}});
  EXPECT_LE(old.low, MiB(1687));  // reported for PyTorch 1.8, CUDA 11.1
  EXPECT_GE(old.high, MiB(1687));
  EXPECT_EQ(context_memory(rtx3090, {.cuda = {12, 8}, .lazy_loading = false}), old);
  const ByteRange now = context_memory(rtx3090, {.cuda = {12, 8}});
  EXPECT_LE(now.low, MiB(256));  // reported for PyTorch 2.7.1
  EXPECT_GE(now.high, MiB(256));
}

}  // namespace
}  // namespace ullage
