// Bytes: a signed 64-bit amount of memory. Arithmetic saturates instead of wrapping, so a hostile file can make a
// number absurd (8 EiB) but never small. Memory is printed base 1024 (MiB, GiB); base 1000 (MB, GB) is one argument
// away.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "ullage/base/result.h"

namespace ullage {

constexpr int64_t saturating_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

constexpr int64_t saturating_sub(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_sub_overflow(a, b, &out)) return out;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

constexpr int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_mul_overflow(a, b, &out)) return out;
  return (a < 0) != (b < 0) ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

struct Bytes {
  int64_t value = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t amount) : value(amount) {}

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes o) { return value = saturating_add(value, o.value), *this; }
  constexpr Bytes& operator-=(Bytes o) { return value = saturating_sub(value, o.value), *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }
  friend constexpr Bytes operator*(Bytes a, int64_t n) { return Bytes(saturating_mul(a.value, n)); }
  friend constexpr Bytes operator*(int64_t n, Bytes a) { return a * n; }
};

constexpr Bytes KiB(int64_t n) { return Bytes(1024) * n; }
constexpr Bytes MiB(int64_t n) { return KiB(1024) * n; }
constexpr Bytes GiB(int64_t n) { return MiB(1024) * n; }

// The smallest multiple of `step` that is not below `amount`; step > 0, amount >= 0.
constexpr Bytes align_up(Bytes amount, Bytes step) {
  const int64_t rest = amount.value % step.value;
  return rest == 0 ? amount : amount + Bytes(step.value - rest);
}

enum class ByteUnit { binary, decimal, exact };  // 1.50 GiB | 1.61 GB | 1610612736 B

// Three significant digits: "97.7 MiB", "2.80 GiB", "512 B"; whole numbers from 1000 to 1023 keep all four.
std::string format_bytes(Bytes amount, ByteUnit unit = ByteUnit::binary);

// "24GiB", "24 GB", "1.5GiB", "512MiB", "1073741824". A unit of one letter (24G) is binary, as PyTorch reads it; units
// may be in either case.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace ullage
