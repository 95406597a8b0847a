#include "ullage/base/bytes.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ullage {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// "Is it 3 MB or 2.86 MiB?": both, and three million bytes. An image of 500 x 500 pixels, 3 channels, fp32.
TEST(BytesLesson, ImageOf500By500) {
  const Bytes image = Bytes(4) * 500 * 500 * 3;
  EXPECT_EQ(image, Bytes(3'000'000));
  EXPECT_EQ(format_bytes(image), "2.86 MiB");
  EXPECT_EQ(format_bytes(image, ByteUnit::decimal), "3.00 MB");
  EXPECT_EQ(format_bytes(image, ByteUnit::exact), "3000000 B");
}

TEST(BytesLesson, BatchOf256Images) {
  const Bytes batch = Bytes(4) * 256 * 3 * 100 * 100;
  EXPECT_EQ(batch, Bytes(30'720'000));
  EXPECT_EQ(format_bytes(batch), "29.3 MiB");
  EXPECT_EQ(format_bytes(batch, ByteUnit::decimal), "30.7 MB");
}

// VGG16: 138,357,544 parameters with bias, "528 MB or 553 MB?".
TEST(BytesLesson, Vgg16Parameters) {
  const Bytes parameters = Bytes(4) * 138'357'544;
  EXPECT_EQ(format_bytes(parameters), "528 MiB");
  EXPECT_EQ(format_bytes(parameters, ByteUnit::decimal), "553 MB");
}

struct FormatCase {
  int64_t bytes;
  const char* binary;
  const char* decimal;
};

class FormatBytes : public testing::TestWithParam<FormatCase> {};

TEST_P(FormatBytes, ThreeSignificantDigits) {
  EXPECT_EQ(format_bytes(Bytes(GetParam().bytes)), GetParam().binary);
  EXPECT_EQ(format_bytes(Bytes(GetParam().bytes), ByteUnit::decimal), GetParam().decimal);
}

INSTANTIATE_TEST_SUITE_P(
    Table, FormatBytes,
    testing::Values(FormatCase{0, "0 B", "0 B"}, FormatCase{512, "512 B", "512 B"}, FormatCase{999, "999 B", "999 B"},
                    FormatCase{1000, "1000 B", "1.00 KB"}, FormatCase{1023, "1023 B", "1.02 KB"},
                    FormatCase{1024, "1.00 KiB", "1.02 KB"}, FormatCase{1536, "1.50 KiB", "1.54 KB"},
                    FormatCase{10234, "9.99 KiB", "10.2 KB"}, FormatCase{10235, "10.0 KiB", "10.2 KB"},
                    FormatCase{1023 * 1024, "1023 KiB", "1.05 MB"}, FormatCase{1024 * 1024 - 1, "1.00 MiB", "1.05 MB"},
                    FormatCase{999'499, "976 KiB", "999 KB"}, FormatCase{999'500, "976 KiB", "1.00 MB"},
                    FormatCase{1'610'612'736, "1.50 GiB", "1.61 GB"}, FormatCase{-3'000'000, "-2.86 MiB", "-3.00 MB"},
                    FormatCase{kMax, "8.00 EiB", "9.22 EB"}, FormatCase{kMin, "-8.00 EiB", "-9.22 EB"}));

struct ParseCase {
  const char* text;
  int64_t bytes;
};

class ParseBytes : public testing::TestWithParam<ParseCase> {};

TEST_P(ParseBytes, Accepts) {
  const Result<Bytes> parsed = parse_bytes(GetParam().text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->value, GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Table, ParseBytes,
                         testing::Values(ParseCase{"0", 0}, ParseCase{"1073741824", 1073741824},
                                         ParseCase{"24GiB", 25769803776}, ParseCase{"24 GB", 24'000'000'000},
                                         ParseCase{"24G", 25769803776}, ParseCase{"24gb", 24'000'000'000},
                                         ParseCase{"1.5GiB", 1610612736}, ParseCase{"512MiB", 536870912},
                                         ParseCase{"0.5K", 512}, ParseCase{"7 B", 7},
                                         ParseCase{"80TB", 80'000'000'000'000},
                                         ParseCase{"9223372036854775807", kMax}));

TEST(ParseBytes, RefusesWithAWayOn) {
  for (const char* text : {"", "GiB", "-1GiB", "1.GiB", ".5GiB", "24 GIBB", "24XB", "1,024", "24GiB ", "5BiB", "1e9"}) {
    const Result<Bytes> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(parsed.error().hint, testing::HasSubstr("24GiB"));
  }
  for (const char* text : {"9223372036854775808", "8EiB", "99999999999GiB", "7.99999999999999999999EiB"}) {
    const Result<Bytes> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::limit) << text;
  }
}

TEST(Bytes, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(Bytes(kMax) + Bytes(1), Bytes(kMax));
  EXPECT_EQ(Bytes(kMin) + Bytes(-1), Bytes(kMin));
  EXPECT_EQ(Bytes(kMin) - Bytes(1), Bytes(kMin));
  EXPECT_EQ(Bytes(1) - Bytes(kMin), Bytes(kMax));
  EXPECT_EQ(Bytes(int64_t{1} << 40) * (int64_t{1} << 40), Bytes(kMax));
  EXPECT_EQ(Bytes(int64_t{1} << 40) * -(int64_t{1} << 40), Bytes(kMin));
  EXPECT_EQ(GiB(int64_t{1} << 50), Bytes(kMax));
}

TEST(Bytes, AlignUp) {
  EXPECT_EQ(align_up(Bytes(0), Bytes(512)), Bytes(0));
  EXPECT_EQ(align_up(Bytes(1), Bytes(512)), Bytes(512));
  EXPECT_EQ(align_up(Bytes(512), Bytes(512)), Bytes(512));
  EXPECT_EQ(align_up(Bytes(513), Bytes(512)), Bytes(1024));
  EXPECT_EQ(align_up(Bytes(kMax), MiB(2)), Bytes(kMax));
}

}  // namespace
}  // namespace ullage
