#include "ullage/base/reader.h"

#include <array>

#include <gtest/gtest.h>

namespace ullage {
namespace {

constexpr std::array<unsigned char, 14> kBytes = {0x01, 0x02, 0x03, 0x04, 0xff, 0x00, 0x00,
                                                  0x80, 0x3f, 'n',  'a',  'm',  'e',  0x07};

TEST(Reader, ReadsLittleEndianAndKnowsWhereItIs) {
  ByteReader reader(std::as_bytes(std::span(kBytes)), 100);
  EXPECT_EQ(reader.read<uint32_t>("a").value(), 0x04030201U);
  EXPECT_EQ(reader.read<int8_t>("b").value(), -1);
  EXPECT_EQ(reader.read<float>("c").value(), 1.0F);
  EXPECT_EQ(reader.offset(), 109);
  EXPECT_EQ(reader.text(4, "d").value(), "name");
  EXPECT_EQ(reader.remaining(), 1);
  EXPECT_TRUE(reader.skip(1, "e").has_value());
  EXPECT_TRUE(reader.at_end());
}

TEST(Reader, NothingBehindTheEnd) {
  ByteReader reader(std::as_bytes(std::span(kBytes)), 18'190);
  ASSERT_TRUE(reader.skip(13, "head").has_value());
  const auto number = reader.read<uint64_t>("length");
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().where, "byte 18203");
  EXPECT_EQ(number.error().message, "length needs 8 bytes, 1 remains");
  EXPECT_FALSE(reader.bytes(UINT64_MAX, "payload").has_value());
  EXPECT_EQ(reader.remaining(), 1) << "a refused read moves nothing";
  EXPECT_EQ(reader.read<uint8_t>("last").value(), 7);
}

}  // namespace
}  // namespace ullage
