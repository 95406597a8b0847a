#include "ullage/sim/alloc/alloc_conf.h"

#include <gtest/gtest.h>

#include "ullage/sim/alloc/pytorch_sizes.h"

namespace ullage {
namespace {

std::string error_of(std::string_view text) {
  const Result<AllocConf> conf = parse_alloc_conf(text);
  return conf ? "accepted" : conf.error().message + " | " + conf.error().hint;
}

TEST(AllocConf, nothing_set_is_the_defaults) {
  const AllocConf conf = parse_alloc_conf("").value();
  EXPECT_FALSE(conf.max_split_size.has_value());
  EXPECT_FALSE(conf.expandable_segments);
  EXPECT_EQ(conf.large_segment_size, MiB(20));
  EXPECT_EQ(conf.max_non_split_rounding, MiB(20));
}

TEST(AllocConf, keys_blanks_and_ignored_keys) {
  const AllocConf conf = parse_alloc_conf(
                             " max_split_size_mb : 128, expandable_segments:True,garbage_collection_threshold:0.8,"
                             "backend:native,pinned_use_background_threads:True,large_segment_size_mb:32,"
                             "per_process_memory_fraction:0.5")
                             .value();
  EXPECT_EQ(conf.max_split_size, MiB(128));
  EXPECT_TRUE(conf.expandable_segments);
  EXPECT_DOUBLE_EQ(conf.garbage_collection_threshold, 0.8);
  EXPECT_EQ(conf.large_segment_size, MiB(32));
  EXPECT_EQ(conf.max_non_split_rounding, MiB(32));  // follows the large segment when not set
  EXPECT_DOUBLE_EQ(conf.memory_fraction.value(), 0.5);
}

TEST(AllocConf, errors_say_what_was_expected) {
  EXPECT_NE(error_of("max_split_size:128").find("did you mean \"max_split_size_mb\""), std::string::npos);
  EXPECT_NE(error_of("zzz:1").find("known: max_split_size_mb"), std::string::npos);
  EXPECT_NE(error_of("expandable_segments:true").find("expected True or False, found \"true\""), std::string::npos);
  EXPECT_NE(error_of("max_split_size_mb:12x").find("expected a number, found \"12x\""), std::string::npos);
  EXPECT_NE(error_of("max_split_size_mb").find("expected \":\", found \"the end\""), std::string::npos);
  EXPECT_NE(error_of("max_split_size_mb:10").find("less than a large segment"), std::string::npos);
  EXPECT_NE(error_of("max_non_split_rounding_mb:5").find("less than a large segment"), std::string::npos);
  EXPECT_NE(error_of("garbage_collection_threshold:1.0").find("not between 0 and 1"), std::string::npos);
  EXPECT_NE(error_of("large_segment_size_mb:10").find("more than 10 MiB"), std::string::npos);
  EXPECT_NE(error_of("roundup_power2_divisions:3").find("not a power of two"), std::string::npos);
  EXPECT_NE(error_of("roundup_power2_divisions:[256:1,").find("expected a number"), std::string::npos);
  EXPECT_NE(error_of("max_split_size_mb:99999999999999999999").find("expected a number"), std::string::npos);
  EXPECT_NE(error_of("max_split_size_mb:9999999999999999").find("out of range"), std::string::npos);
  EXPECT_EQ(parse_alloc_conf("backend:cudaMallocAsync").error().code, ErrorCode::unsupported);
}

TEST(AllocConf, one_division_is_for_all_sizes) {
  EXPECT_EQ(parse_alloc_conf("roundup_power2_divisions:4").value().roundup_divisions[15], 4);
}

TEST(AllocConf, the_first_key_fills_below_and_the_tail_begins_after_the_last_since_2_11) {
  const std::string text = "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]";
  const std::array<int64_t, 16> now{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8};
  std::array<int64_t, 16> before = now;
  before[10] = 8;
  EXPECT_EQ(parse_alloc_conf(text, 215).value().roundup_divisions, now);
  EXPECT_EQ(parse_alloc_conf(text, 210).value().roundup_divisions, before);
  // Keys between two named ones keep 0.
  const AllocConf gap = parse_alloc_conf("roundup_power2_divisions:[1:8,4:2]").value();
  EXPECT_EQ(gap.roundup_divisions[1], 0);
  EXPECT_EQ(gap.roundup_divisions[2], 2);
  EXPECT_EQ(gap.roundup_divisions[3], 0);
}

TEST(RoundSize, with_divisions) {
  const auto rounded = [](int64_t divisions, Bytes size) {
    AllocConf conf;
    conf.roundup_divisions.fill(divisions);
    return round_size(size, conf).value;
  };
  EXPECT_EQ(rounded(4, Bytes(1200)), 1536);  // at most 4 x 512: rounded to 512
  EXPECT_EQ(rounded(4, Bytes(2048)), 2048);
  EXPECT_EQ(rounded(4, Bytes(2049)), 2560);
  EXPECT_EQ(rounded(4, Bytes(2560)), 2560);
  EXPECT_EQ(rounded(4, Bytes(2561)), 3072);
  EXPECT_EQ(rounded(4, Bytes(3000000)), 3145728);
  EXPECT_EQ(rounded(4, MiB(5)), MiB(5).value);
  EXPECT_EQ(rounded(4, MiB(5) + Bytes(1)), MiB(6).value);
  EXPECT_EQ(rounded(4, MiB(6) + Bytes(1)), MiB(7).value);
  EXPECT_EQ(rounded(4, MiB(7) + Bytes(1)), MiB(8).value);
  EXPECT_EQ(rounded(4, GiB(1) + Bytes(1)), 1342177280);
  EXPECT_EQ(rounded(8, Bytes(4096)), 4096);
  EXPECT_EQ(rounded(8, Bytes(4097)), 4608);
  EXPECT_EQ(rounded(8, MiB(9) + Bytes(1)), MiB(10).value);
  EXPECT_EQ(rounded(1, Bytes(1200)), 1536);
  EXPECT_EQ(rounded(0, Bytes(1)), 512);
}

}  // namespace
}  // namespace ullage
