#include "ullage/ir/dtype.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ullage {
namespace {

enum class Kind : uint8_t { none, boolean, integer, floating, complex };  // in the order of promotion

struct Row {
  DType dtype;
  std::string_view name;
  int bits;
  Kind kind;
  bool is_signed;
};

constexpr auto kRows = std::to_array<Row>({
    {DType::unknown, "unknown", 0, Kind::none, false},
    {DType::f32, "float32", 32, Kind::floating, true},
    {DType::f64, "float64", 64, Kind::floating, true},
    {DType::f16, "float16", 16, Kind::floating, true},
    {DType::bf16, "bfloat16", 16, Kind::floating, true},
    {DType::f8e4m3fn, "float8_e4m3fn", 8, Kind::floating, true},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", 8, Kind::floating, true},
    {DType::f8e5m2, "float8_e5m2", 8, Kind::floating, true},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", 8, Kind::floating, true},
    {DType::f8e8m0, "float8_e8m0fnu", 8, Kind::floating, false},
    {DType::f4e2m1, "float4_e2m1fn", 4, Kind::floating, true},
    {DType::i8, "int8", 8, Kind::integer, true},
    {DType::i16, "int16", 16, Kind::integer, true},
    {DType::i32, "int32", 32, Kind::integer, true},
    {DType::i64, "int64", 64, Kind::integer, true},
    {DType::i4, "int4", 4, Kind::integer, true},
    {DType::i2, "int2", 2, Kind::integer, true},
    {DType::u8, "uint8", 8, Kind::integer, false},
    {DType::u16, "uint16", 16, Kind::integer, false},
    {DType::u32, "uint32", 32, Kind::integer, false},
    {DType::u64, "uint64", 64, Kind::integer, false},
    {DType::u4, "uint4", 4, Kind::integer, false},
    {DType::u2, "uint2", 2, Kind::integer, false},
    {DType::boolean, "bool", 8, Kind::boolean, false},
    {DType::c64, "complex64", 64, Kind::complex, true},
    {DType::c128, "complex128", 128, Kind::complex, true},
    {DType::string, "string", 0, Kind::none, false},
});

constexpr bool rows_in_order() {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  return true;
}
static_assert(rows_in_order(), "a row is found by its dtype's number");

// Other names that people and files use.
struct Alias {
  std::string_view name;
  DType dtype;
};
constexpr auto kAliases = std::to_array<Alias>({
    {"fp32", DType::f32},
    {"f32", DType::f32},
    {"float", DType::f32},
    {"fp64", DType::f64},
    {"f64", DType::f64},
    {"double", DType::f64},
    {"fp16", DType::f16},
    {"f16", DType::f16},
    {"half", DType::f16},
    {"bf16", DType::bf16},
    {"fp8", DType::f8e4m3fn},
    {"f8e4m3fn", DType::f8e4m3fn},
    {"f8e5m2", DType::f8e5m2},
    {"e4m3", DType::f8e4m3fn},
    {"e5m2", DType::f8e5m2},
    {"f8e8m0", DType::f8e8m0},
    {"fp4", DType::f4e2m1},
    {"f4e2m1", DType::f4e2m1},
    {"float4_e2m1fn_x2", DType::f4e2m1},
    {"i8", DType::i8},
    {"i16", DType::i16},
    {"short", DType::i16},
    {"i32", DType::i32},
    {"int", DType::i32},
    {"i64", DType::i64},
    {"long", DType::i64},
    {"i4", DType::i4},
    {"i2", DType::i2},
    {"u8", DType::u8},
    {"byte", DType::u8},
    {"u16", DType::u16},
    {"u32", DType::u32},
    {"u64", DType::u64},
    {"u4", DType::u4},
    {"u2", DType::u2},
    {"boolean", DType::boolean},
    {"c64", DType::c64},
    {"c128", DType::c128},
    {"cfloat", DType::c64},
    {"cdouble", DType::c128},
});

const Row& row_of(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

// The narrowest signed integer that holds an unsigned one of `bits` bits; 64 bits stay 64.
DType signed_above(int bits) {
  if (bits < 8) return DType::i8;
  if (bits == 8) return DType::i16;
  return bits == 16 ? DType::i32 : DType::i64;
}

}  // namespace

int bits_of(DType dtype) { return row_of(dtype).bits; }
std::string_view name_of(DType dtype) { return row_of(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const Row& row : kRows)
    if (row.name == name && row.dtype != DType::unknown) return row.dtype;
  const auto alias = std::ranges::find(kAliases, name, &Alias::name);
  if (alias != kAliases.end()) return alias->dtype;
  return std::nullopt;
}

bool is_floating(DType dtype) { return row_of(dtype).kind == Kind::floating; }
bool is_complex(DType dtype) { return row_of(dtype).kind == Kind::complex; }

Bytes bytes_of(DType dtype, int64_t count) {
  const int bits = bits_of(dtype);
  if (bits >= 8) return Bytes(saturating_mul(count, bits / 8));
  const int64_t a_byte = bits == 0 ? 1 : 8 / bits;
  return bits == 0 ? Bytes(0) : Bytes(count / a_byte + (count % a_byte != 0 ? 1 : 0));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Row& x = row_of(a);
  const Row& y = row_of(b);
  if (x.kind == Kind::complex || y.kind == Kind::complex) {
    const auto is_double = [](const Row& row) { return row.dtype == DType::c128 || row.dtype == DType::f64; };
    return is_double(x) || is_double(y) ? DType::c128 : DType::c64;
  }
  if (x.kind != y.kind) return x.kind > y.kind ? a : b;
  if (x.kind == Kind::floating) {
    if (x.bits != y.bits) return x.bits > y.bits ? a : b;
    return DType::f32;  // float16 and bfloat16: neither holds the other
  }
  if (x.is_signed == y.is_signed) return x.bits >= y.bits ? a : b;
  const Row& with_sign = x.is_signed ? x : y;
  const Row& without = x.is_signed ? y : x;
  return with_sign.bits > without.bits ? with_sign.dtype : signed_above(without.bits);
}

}  // namespace ullage
