// What PyTorch 2.15's own allocator did with the same requests: addresses, segments taken and given back, every
// counter. The files and how they are made: tests/data/allocator/record_requests.py.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ullage/sim/alloc/alloc_pytorch.h"

namespace ullage {
namespace {

template <class T>
int64_t plain(T amount) {
  if constexpr (std::is_same_v<T, Bytes>)
    return amount.value;
  else
    return amount;
}

template <class T>
std::vector<int64_t> numbers(const Tally<T>& tally) {
  return {plain(tally.current), plain(tally.peak), plain(tally.increased), plain(tally.decreased)};
}

// The numbers under a name of memory_stats().
std::vector<int64_t> numbers_of(const AllocatorStats& stats, const std::string& name) {
  const auto of_pool = [&](const auto& tally, const std::string& pool) {
    return numbers(pool == "all" ? tally.all : pool == "small_pool" ? tally.small : tally.large);
  };
  const std::string key = name.substr(0, name.find('.'));
  const std::string pool = name.substr(std::min(name.size(), name.find('.') + 1));
  if (key == "allocation") return of_pool(stats.allocations, pool);
  if (key == "segment") return of_pool(stats.segments, pool);
  if (key == "active") return of_pool(stats.active_blocks, pool);
  if (key == "inactive_split") return of_pool(stats.inactive_splits, pool);
  if (key == "allocated_bytes") return of_pool(stats.allocated, pool);
  if (key == "reserved_bytes") return of_pool(stats.reserved, pool);
  if (key == "active_bytes") return of_pool(stats.active, pool);
  if (key == "inactive_split_bytes") return of_pool(stats.inactive_split, pool);
  if (key == "requested_bytes") return of_pool(stats.requested, pool);
  if (key == "oversize_allocations") return numbers(stats.oversize_allocations);
  if (key == "oversize_segments") return numbers(stats.oversize_segments);
  if (key == "num_alloc_retries") return {stats.num_alloc_retries};
  if (key == "num_ooms") return {stats.num_ooms};
  if (key == "num_sync_all_streams") return {stats.num_sync_all_streams};
  if (key == "num_device_alloc") return {stats.num_device_alloc};
  if (key == "num_device_free") return {stats.num_device_free};
  return {};
}

class Recorded : public ::testing::TestWithParam<const char*> {};

TEST_P(Recorded, is_what_the_allocator_does) {
  std::ifstream file(std::string(ULLAGE_SOURCE_DIR "/tests/data/allocator/") + GetParam() + ".txt");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const nlohmann::json head = nlohmann::json::parse(line);
  PytorchOptions options{.conf = parse_alloc_conf(head["conf"].get<std::string>()).value(),
                         .capacity = Bytes(head["capacity"].get<int64_t>()),
                         .device_total = Bytes(head["total"].get<int64_t>())};
  if (head["fraction"].get<double>() > 0) options.conf.memory_fraction = head["fraction"].get<double>();
  PytorchAllocator allocator(options);
  std::vector<SegmentEvent> log;
  allocator.record_segments(&log);

  size_t segments = 0, stats = 0;
  for (int number = 2; std::getline(file, line); ++number) {
    std::istringstream in(line);
    char action = 0;
    in >> action;
    const std::string where = "line " + std::to_string(number) + ": " + line;
    if (action == 'S' || action == 'F' || action == 'M' || action == 'U') {
      int64_t size = 0;
      in >> size;
      ASSERT_LT(segments, log.size()) << where;
      EXPECT_EQ("SFMU"[static_cast<size_t>(log[segments].action)], action) << where;
      EXPECT_EQ(log[segments++].size, Bytes(size)) << where;
    } else if (action == '=') {
      std::string name;
      in >> name;
      std::vector<int64_t> expected;
      for (int64_t value = 0; in >> value;) expected.push_back(value);
      std::vector<int64_t> found = numbers_of(allocator.stats(), name);
      found.resize(std::min(found.size(), expected.size()));
      EXPECT_EQ(found, expected) << where;
      ++stats;
    } else if (action == 'E') {
      allocator.empty_cache();
    } else {
      uint32_t id = 0;
      int64_t size = 0, address = -1;
      uint32_t stream = 0;
      in >> id;
      if (action == 'r') {
        allocator.free(BlockId{id});
      } else if (action == 'u') {
        in >> stream;
        allocator.record_stream(BlockId{id}, stream);
      } else {
        in >> size >> stream;
        ASSERT_EQ(allocator.alloc(BlockId{id}, Bytes(size), stream).served, action == 'a') << where;
        if (in >> address) {
          ASSERT_EQ(allocator.address_of(BlockId{id}) - kFirstAddress, address) << where;
        }
      }
    }
  }
  EXPECT_EQ(segments, log.size());
  EXPECT_GE(stats, 9u);
}

INSTANTIATE_TEST_SUITE_P(PytorchAllocator, Recorded,
                         ::testing::Values("default", "streams", "expandable", "max_split_size", "garbage_collection",
                                           "large_segment_expandable", "train_r3d_18", "train_vgg16", "train_resnet50"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace ullage
