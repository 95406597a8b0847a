// Element types and what an element takes. Sub-byte types pack and round a tensor up to whole bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ullage/base/bytes.h"

namespace ullage {

enum class DType : uint8_t {
  unknown,
  f32,
  f64,
  f16,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i8,
  i16,
  i32,
  i64,
  i4,
  i2,
  u8,
  u16,
  u32,
  u64,
  u4,
  u2,
  boolean,
  c64,
  c128,
  string,  // host only: no device bytes
};

int bits_of(DType dtype);                                 // 0 for unknown and string
std::string_view name_of(DType dtype);                    // PyTorch's names: "float32", "bfloat16", "int64", "bool"
std::optional<DType> parse_dtype(std::string_view name);  // "float32", "fp32", "f32", "half", "int64", …

bool is_floating(DType dtype);  // floats, not complex
bool is_complex(DType dtype);
// Only floating and complex tensors can require a gradient.
inline bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// Bytes of `count` packed elements, rounded up to whole bytes.
Bytes bytes_of(DType dtype, int64_t count);

// torch.promote_types (bool < int < float < complex; within one, the type that holds both). Where PyTorch refuses to
// promote (8-bit floats, unsigned of 16 bits and more) the wider one, by the same reasoning.
DType promote(DType a, DType b);

}  // namespace ullage
