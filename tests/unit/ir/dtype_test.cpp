#include "ullage/ir/dtype.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace ullage {
namespace {

TEST(DType, BytesOfPackedElementsRoundUp) {
  EXPECT_EQ(bytes_of(DType::f32, 1000), Bytes(4000));
  EXPECT_EQ(bytes_of(DType::bf16, 3), Bytes(6));
  EXPECT_EQ(bytes_of(DType::boolean, 7), Bytes(7));
  EXPECT_EQ(bytes_of(DType::c128, 2), Bytes(32));
  EXPECT_EQ(bytes_of(DType::i4, 3), Bytes(2));
  EXPECT_EQ(bytes_of(DType::u2, 5), Bytes(2));
  EXPECT_EQ(bytes_of(DType::f4e2m1, 0), Bytes(0));
  EXPECT_EQ(bytes_of(DType::string, 100), Bytes(0));
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(bytes_of(DType::f32, kMax), Bytes(kMax));  // absurd stays absurd
  EXPECT_EQ(bytes_of(DType::i4, kMax), Bytes(kMax / 2 + 1));
}

TEST(DType, NamesGoRoundTrip) {
  for (int i = 1; i <= static_cast<int>(DType::string); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype) << name_of(dtype);
  }
}

TEST(DType, NamesPeopleType) {
  EXPECT_EQ(parse_dtype("fp16"), DType::f16);
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_EQ(parse_dtype("f32"), DType::f32);
  EXPECT_EQ(parse_dtype("torch.bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("long"), DType::i64);
  EXPECT_EQ(parse_dtype("bool"), DType::boolean);
  EXPECT_EQ(parse_dtype("floot"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(parse_dtype("unknown"), std::nullopt);
}

TEST(DType, OnlyFloatsAndComplexHaveGradients) {
  EXPECT_TRUE(is_differentiable(DType::bf16));
  EXPECT_TRUE(is_differentiable(DType::c64));
  EXPECT_FALSE(is_differentiable(DType::i64));
  EXPECT_FALSE(is_differentiable(DType::boolean));
}

// torch.promote_types of PyTorch 2.15, printed by it.
TEST(DType, PromotesAsPyTorch) {
  using enum DType;
  constexpr std::array kTypes = {f32, f64, f16, bf16, i8, i16, i32, i64, u8, boolean, c64, c128};
  constexpr DType kTable[12][12] = {
      {f32, f64, f32, f32, f32, f32, f32, f32, f32, f32, c64, c128},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, c128, c128},
      {f32, f64, f16, f32, f16, f16, f16, f16, f16, f16, c64, c128},
      {f32, f64, f32, bf16, bf16, bf16, bf16, bf16, bf16, bf16, c64, c128},
      {f32, f64, f16, bf16, i8, i16, i32, i64, i16, i8, c64, c128},
      {f32, f64, f16, bf16, i16, i16, i32, i64, i16, i16, c64, c128},
      {f32, f64, f16, bf16, i32, i32, i32, i64, i32, i32, c64, c128},
      {f32, f64, f16, bf16, i64, i64, i64, i64, i64, i64, c64, c128},
      {f32, f64, f16, bf16, i16, i16, i32, i64, u8, u8, c64, c128},
      {f32, f64, f16, bf16, i8, i16, i32, i64, u8, boolean, c64, c128},
      {c64, c128, c64, c64, c64, c64, c64, c64, c64, c64, c64, c128},
      {c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128},
  };
  for (size_t a = 0; a < kTypes.size(); ++a)
    for (size_t b = 0; b < kTypes.size(); ++b)
      EXPECT_EQ(promote(kTypes[a], kTypes[b]), kTable[a][b]) << name_of(kTypes[a]) << " with " << name_of(kTypes[b]);
  EXPECT_EQ(promote(u16, f16), f16);  // as PyTorch says
  EXPECT_EQ(promote(u16, i8), i32);   // it refuses; int32 holds both
  EXPECT_EQ(promote(unknown, i8), i8);
}

}  // namespace
}  // namespace ullage
