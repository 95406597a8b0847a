// Vectors worked out by hand from the documented rules of PyTorch's caching allocator.
#include "ullage/sim/alloc/alloc_pytorch.h"

#include <vector>

#include <gtest/gtest.h>

namespace ullage {
namespace {

PytorchOptions with_conf(std::string_view text, Bytes capacity = kUnlimited) {
  return {.conf = parse_alloc_conf(text).value(), .capacity = capacity};
}

// An allocator with the block ids counted for the test.
struct Bench {
  explicit Bench(const PytorchOptions& options = {}) : allocator(options) { allocator.record_segments(&log); }

  uint32_t alloc(Bytes size, uint32_t stream = 0, PoolId pool = {}) {
    const BlockId id{++last};
    return allocator.alloc(id, size, stream, pool).served ? id.index : 0;
  }
  void free(uint32_t id) { allocator.free(BlockId{id}); }
  int64_t allocated() const { return allocator.stats().allocated.all.current.value; }
  int64_t reserved() const { return allocator.stats().reserved.all.current.value; }
  int64_t isb() const { return allocator.stats().inactive_split.all.current.value; }
  int64_t splits() const { return allocator.stats().inactive_splits.all.current; }
  std::string segments() const {  // "+20 -20 m40 u20", in MiB
    std::string text;
    for (const SegmentEvent& event : log) {
      text += text.empty() ? "" : " ";
      text += "+-mu"[static_cast<size_t>(event.action)] + std::to_string(event.size.value >> 20);
    }
    return text;
  }

  PytorchAllocator allocator;
  std::vector<SegmentEvent> log;
  uint32_t last = 0;
};

int64_t mib(int64_t n) { return MiB(n).value; }

struct Single {
  int64_t requested, allocated, reserved, inactive_split;
};

class SingleRequest : public ::testing::TestWithParam<Single> {};

TEST_P(SingleRequest, on_an_empty_allocator) {
  const Single& row = GetParam();
  Bench bench;
  bench.alloc(Bytes(row.requested));
  EXPECT_EQ(bench.allocated(), row.allocated);
  EXPECT_EQ(bench.reserved(), row.reserved);
  EXPECT_EQ(bench.isb(), row.inactive_split);
  EXPECT_EQ(bench.allocator.stats().segments.all.current, 1);
  EXPECT_EQ(bench.allocator.stats().requested.all.current, Bytes(row.requested));
}

INSTANTIATE_TEST_SUITE_P(PytorchAllocator, SingleRequest,
                         ::testing::Values(Single{1, 512, 2097152, 2096640},              //
                                           Single{1048576, 1048576, 2097152, 1048576},    // largest small one
                                           Single{1048577, 1049088, 20971520, 19922432},  //
                                           Single{8519680, 8519680, 20971520, 12451840},  // a cuBLAS workspace
                                           Single{10485248, 10485248, 20971520, 10486272},
                                           Single{10485759, 10485760, 10485760, 0},  //
                                           Single{10485761, 10486272, 12582912, 2096640},
                                           Single{11534336, 12582912, 12582912, 0},  // 1 MiB left is not split off
                                           Single{11533824, 11533824, 12582912, 1049088},
                                           Single{19922944, 20971520, 20971520, 0}));

TEST(PytorchAllocator, nothing_requested_is_nothing_done) {
  Bench bench;
  EXPECT_TRUE(bench.allocator.alloc(BlockId{1}, Bytes(0)).served);
  bench.allocator.free(BlockId{1});
  bench.allocator.free(BlockId{77});
  EXPECT_EQ(bench.reserved(), 0);
  EXPECT_EQ(bench.allocator.stats().allocations.all.increased, 0);
}

TEST(PytorchAllocator, an_exbibyte_is_refused_before_anything_else) {
  Bench bench;
  EXPECT_EQ(bench.alloc(Bytes(int64_t{1} << 60)), 0u);
  EXPECT_EQ(bench.allocator.stats().num_ooms, 0);
  EXPECT_EQ(bench.allocator.stats().num_alloc_retries, 0);
}

TEST(PytorchAllocator, sequence_a_splits_and_merges_within_a_segment) {
  Bench bench;
  uint32_t b[4];
  for (uint32_t& id : b) id = bench.alloc(MiB(5));
  EXPECT_EQ(bench.reserved(), mib(20));
  EXPECT_EQ(bench.isb(), 0);
  bench.alloc(MiB(2));
  EXPECT_EQ(bench.reserved(), mib(40));
  const auto expect = [&](int64_t bytes, int64_t count) {
    EXPECT_EQ(bench.isb(), bytes);
    EXPECT_EQ(bench.splits(), count);
  };
  expect(18874368, 1);
  bench.free(b[1]), expect(24117248, 2);
  bench.free(b[2]), expect(29360128, 2);
  bench.free(b[3]), expect(34603008, 2);
  bench.free(b[0]), expect(18874368, 1);  // the first segment is whole again
  bench.allocator.empty_cache();
  EXPECT_EQ(bench.reserved(), mib(20));
}

TEST(PytorchAllocator, sequence_b_fragmentation_ends_in_oom_with_the_segment_size) {
  for (const char* conf : {"", "expandable_segments:True"}) {
    Bench bench(with_conf(conf, MiB(100)));
    uint32_t b[21] = {};
    for (int i = 1; i <= 20; ++i) b[i] = bench.alloc(MiB(5));
    for (int i = 1; i <= 20; i += 2) bench.free(b[i]);
    EXPECT_EQ(bench.alloc(MiB(12)), 0u) << conf;
    EXPECT_EQ(bench.allocator.out_of_memory().requested, MiB(12));
    EXPECT_EQ(bench.allocator.out_of_memory().wanted, MiB(12));
    EXPECT_EQ(bench.allocator.out_of_memory().allocated, MiB(50));
    EXPECT_EQ(bench.allocator.out_of_memory().reserved, MiB(100));
    EXPECT_EQ(bench.allocator.out_of_memory().device_free, Bytes(0));
    EXPECT_EQ(bench.allocator.stats().num_alloc_retries, 1);
    EXPECT_EQ(bench.allocator.stats().num_ooms, 1);
  }
}

TEST(PytorchAllocator, sequence_b_expandable_serves_from_what_adjoins) {
  Bench bench(with_conf("expandable_segments:True", MiB(100)));
  uint32_t b[21] = {};
  for (int i = 1; i <= 20; ++i) b[i] = bench.alloc(MiB(5));
  for (int i = 1; i <= 20; i += 2) bench.free(b[i]);
  bench.free(b[2]), bench.free(b[4]);  // 1 to 5: 25 MiB in a row
  const size_t maps = bench.log.size();
  EXPECT_NE(bench.alloc(MiB(12)), 0u);
  EXPECT_EQ(bench.log.size(), maps);
}

TEST(PytorchAllocator, sequence_c_exactly_one_mebibyte_is_not_split_off) {
  for (const auto& [second, allocated, left] : {std::tuple{29, mib(30), mib(0)}, std::tuple{28, mib(28), mib(2)}}) {
    Bench bench;
    bench.free(bench.alloc(MiB(30)));
    bench.alloc(MiB(second));
    EXPECT_EQ(bench.allocated(), allocated);
    EXPECT_EQ(bench.isb(), left);
    EXPECT_EQ(bench.reserved(), mib(30));
  }
}

TEST(PytorchAllocator, sequence_d_the_cache_is_released_before_giving_up) {
  Bench bench({.capacity = MiB(100)});
  bench.free(bench.alloc(MiB(60)));
  EXPECT_NE(bench.alloc(MiB(70)), 0u);
  EXPECT_EQ(bench.allocator.stats().num_alloc_retries, 1);
  EXPECT_EQ(bench.allocator.stats().num_ooms, 0);
  EXPECT_EQ(bench.reserved(), mib(70));
  EXPECT_EQ(bench.segments(), "+60 -60 +70");
}

TEST(PytorchAllocator, sequence_e_oversize_blocks_serve_oversize_requests_only) {
  Bench bench(with_conf("max_split_size_mb:64"));
  bench.free(bench.alloc(MiB(100)));
  bench.alloc(MiB(10));
  EXPECT_EQ(bench.segments(), "+100 +10");
  const int64_t before = bench.allocated();
  const uint32_t ninety = bench.alloc(MiB(90));
  EXPECT_EQ(bench.allocated() - before, mib(100));
  bench.free(ninety);
  bench.alloc(MiB(80));  // 100 >= 80 + 20: too much slack
  EXPECT_EQ(bench.segments(), "+100 +10 +80");
}

TEST(PytorchAllocator, sequence_f_oversize_blocks_are_released_first) {
  Bench bench(with_conf("max_split_size_mb:64", MiB(300)));
  const uint32_t a = bench.alloc(MiB(100)), b = bench.alloc(MiB(100));
  bench.free(a), bench.free(b);
  EXPECT_NE(bench.alloc(MiB(150)), 0u);
  EXPECT_EQ(bench.segments(), "+100 +100 -100 -100 +150");
  EXPECT_EQ(bench.allocator.stats().num_alloc_retries, 0);
}

TEST(PytorchAllocator, sequence_g_garbage_of_equal_age_goes_together) {
  PytorchOptions options = with_conf("garbage_collection_threshold:0.5");
  options.conf.memory_fraction = 1.0;
  options.device_total = MiB(1000);
  options.torch = 209;  // from 2.10 on a fraction of 1 is no limit
  Bench bench(options);
  uint32_t b[4];
  for (int i = 0; i < 4; ++i) b[i] = bench.alloc(MiB(100 + 20 * i));
  for (const uint32_t id : b) bench.free(id);
  bench.alloc(MiB(200));
  EXPECT_EQ(bench.segments(), "+100 +120 +140 +160 -100 -120 -140 -160 +200");
  EXPECT_EQ(bench.reserved(), mib(200));
}

TEST(PytorchAllocator, sequence_h_a_fraction_is_compared_with_the_segment) {
  PytorchOptions options{.capacity = MiB(100)};
  options.conf.memory_fraction = 0.1;
  Bench bench(options);
  EXPECT_EQ(bench.alloc(MiB(2)), 0u);
  EXPECT_EQ(bench.allocator.out_of_memory().wanted, MiB(20));
  EXPECT_EQ(bench.allocator.out_of_memory().rounded, MiB(2));
  EXPECT_EQ(bench.allocator.out_of_memory().allowed, MiB(10));
  EXPECT_EQ(bench.allocator.out_of_memory().device_free, MiB(100));
}

TEST(PytorchAllocator, sequence_i_expandable_pages_are_mapped_and_unmapped) {
  Bench bench(with_conf("expandable_segments:True", GiB(1)));
  const uint32_t first = bench.alloc(MiB(30));
  bench.alloc(MiB(30));
  EXPECT_EQ(bench.segments(), "m40 m20");
  EXPECT_EQ(bench.reserved(), mib(60));
  EXPECT_EQ(bench.allocator.address_of(BlockId{2}) - bench.allocator.address_of(BlockId{1}), mib(30));
  bench.free(first);
  bench.allocator.empty_cache();  // page 2 is shared with the second block
  EXPECT_EQ(bench.segments(), "m40 m20 u20");
  EXPECT_EQ(bench.reserved(), mib(40));
  bench.alloc(MiB(25));
  EXPECT_EQ(bench.segments(), "m40 m20 u20 m20");
  EXPECT_EQ(bench.log[3].address, bench.log[0].address);
  EXPECT_EQ(bench.reserved(), mib(60));
  EXPECT_EQ(bench.isb(), 0);
  EXPECT_EQ(bench.allocator.stats().segments.all.peak, 0);
}

TEST(PytorchAllocator, sequence_j_streams_do_not_share_their_cache) {
  Bench bench;
  bench.free(bench.alloc(MiB(30), 0));
  bench.alloc(MiB(3), 1);
  EXPECT_EQ(bench.segments(), "+30 +20");
}

TEST(PytorchAllocator, small_and_large_are_counted_apart) {
  Bench bench;
  bench.alloc(KiB(3)), bench.alloc(MiB(3));
  const AllocatorStats& stats = bench.allocator.stats();
  EXPECT_EQ(stats.reserved.small.current, MiB(2));
  EXPECT_EQ(stats.reserved.large.current, MiB(20));
  EXPECT_EQ(stats.allocated.small.current, KiB(3));
  EXPECT_EQ(stats.allocated.large.current, MiB(3));
}

TEST(PytorchAllocator, a_block_used_by_another_stream_waits) {
  for (const EventTiming timing : {EventTiming::immediate, EventTiming::at_sync_points}) {
    Bench bench({.timing = timing});
    const uint32_t block = bench.alloc(MiB(30));
    bench.allocator.record_stream(BlockId{block}, 1);
    EXPECT_EQ(bench.allocator.free(BlockId{block}), FreeResult::pending);
    const AllocatorStats& stats = bench.allocator.stats();
    EXPECT_EQ(stats.allocated.all.current, Bytes(0));
    EXPECT_EQ(stats.active.all.current, MiB(30));
    EXPECT_EQ(stats.requested.all.current, MiB(30));
    bench.alloc(MiB(30));  // immediate: reuses the block; otherwise it must not
    EXPECT_EQ(bench.reserved(), timing == EventTiming::immediate ? mib(30) : mib(60));
    bench.allocator.synchronize();
    bench.alloc(MiB(30));
    EXPECT_EQ(bench.reserved(), mib(60));
    EXPECT_EQ(bench.allocator.take_completed(), (std::vector<BlockId>{BlockId{block}}));
  }
}

TEST(PytorchAllocator, its_own_stream_is_no_other_stream) {
  Bench bench;
  const uint32_t block = bench.alloc(MiB(30), 5);
  bench.allocator.record_stream(BlockId{block}, 5);
  EXPECT_EQ(bench.allocator.free(BlockId{block}), FreeResult::complete);
}

TEST(PytorchAllocator, releasing_the_cache_waits_for_streams) {
  Bench bench({.timing = EventTiming::at_sync_points});
  const uint32_t block = bench.alloc(MiB(30));
  bench.allocator.record_stream(BlockId{block}, 1);
  bench.free(block);
  bench.allocator.empty_cache();
  EXPECT_EQ(bench.reserved(), 0);
  EXPECT_EQ(bench.allocator.stats().num_sync_all_streams, 1);
}

TEST(PytorchAllocator, a_private_pool_serves_itself_and_is_kept_until_it_ends) {
  Bench bench;
  const PoolId pool = bench.allocator.begin_private_pool();
  bench.free(bench.alloc(MiB(30), 0, pool));
  bench.alloc(MiB(30));
  EXPECT_EQ(bench.reserved(), mib(60));
  bench.alloc(MiB(30), 0, pool);
  EXPECT_EQ(bench.reserved(), mib(60));
  bench.free(3);
  bench.allocator.empty_cache();
  EXPECT_EQ(bench.reserved(), mib(60));
  bench.allocator.end_private_pool(pool);
  bench.allocator.empty_cache();
  EXPECT_EQ(bench.reserved(), mib(30));
}

TEST(PytorchAllocator, during_a_capture_the_cache_stays) {
  Bench bench({.capacity = MiB(100)});
  bench.free(bench.alloc(MiB(60)));
  bench.allocator.begin_capture();
  EXPECT_EQ(bench.alloc(MiB(70)), 0u);
  EXPECT_EQ(bench.reserved(), mib(60));
  bench.allocator.end_capture();
  EXPECT_NE(bench.alloc(MiB(70)), 0u);
}

TEST(PytorchAllocator, equal_blocks_go_by_age_of_segment_since_2_13_and_by_address_before) {
  for (const int torch : {212, 213}) {
    Bench bench({.torch = torch});
    const uint32_t low = bench.alloc(MiB(30)), high = bench.alloc(MiB(30));
    const int64_t low_address = bench.allocator.address_of(BlockId{low});
    const int64_t high_address = bench.allocator.address_of(BlockId{high});
    bench.free(low);
    bench.allocator.empty_cache();
    const uint32_t young = bench.alloc(MiB(30));  // the lower address again, but the younger segment
    ASSERT_EQ(bench.allocator.address_of(BlockId{young}), low_address);
    bench.free(young), bench.free(high);
    const uint32_t taken = bench.alloc(MiB(30));
    EXPECT_EQ(bench.allocator.address_of(BlockId{taken}), torch == 213 ? high_address : low_address);
  }
}

TEST(PytorchAllocator, reset_peak_starts_from_the_current_value) {
  Bench bench;
  bench.alloc(MiB(30));
  bench.free(bench.alloc(MiB(50)));
  bench.allocator.reset_peak();
  EXPECT_EQ(bench.allocator.stats().allocated.all.peak, MiB(30));
  EXPECT_EQ(bench.allocator.stats().reserved.all.peak, MiB(80));
}

}  // namespace
}  // namespace ullage
