#include "ullage/base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace ullage {

namespace {

constexpr std::array<std::string_view, 7> kBinaryUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr std::array<std::string_view, 7> kDecimalUnits = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
constexpr std::string_view kUnitLetters = "BKMGTPE";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Bytes in one of `unit` ("", "B", "K", "KB", "KiB", …, in any case); 0 when there is no such unit.
int64_t unit_size(std::string_view unit) {
  if (unit.empty()) return 1;
  const size_t power = kUnitLetters.find(upper(unit[0]));
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = unit.substr(1);
  int64_t base = 0;
  if (power == 0) {
    base = rest.empty() ? 1 : 0;
  } else if (rest.empty() || (rest.size() == 2 && upper(rest[0]) == 'I' && upper(rest[1]) == 'B')) {
    base = 1024;
  } else if (rest.size() == 1 && upper(rest[0]) == 'B') {
    base = 1000;
  }
  int64_t size = base == 0 ? 0 : 1;
  for (size_t i = 0; i < power; ++i) size *= base;
  return size;
}

tl::unexpected<Error> not_a_size(std::string_view text) {
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not an amount of memory", text), {},
              "write a number and a unit: 24GiB, 1.5GiB, 512MiB, 24GB (1000-based) or plain bytes");
}

}  // namespace

std::string format_bytes(Bytes amount, ByteUnit unit) {
  if (unit == ByteUnit::exact) return fmt::format("{} B", amount.value);
  const auto& names = unit == ByteUnit::binary ? kBinaryUnits : kDecimalUnits;
  const double base = unit == ByteUnit::binary ? 1024 : 1000;
  double scaled = std::fabs(static_cast<double>(amount.value));
  size_t power = 0;
  // What would print as "1024 KiB" or "1000 KB" belongs to the next unit.
  while (power + 1 < names.size() && scaled >= (power == 0 ? base : base - 0.5)) {
    scaled /= base;
    ++power;
  }
  const int decimals = power == 0 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return fmt::format("{}{:.{}f} {}", amount.value < 0 ? "-" : "", scaled, decimals, names[power]);
}

Result<Bytes> parse_bytes(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  int64_t whole = 0;
  if (digits == 0) return not_a_size(text);
  if (std::from_chars(text.data(), text.data() + digits, whole).ec != std::errc()) {
    return fail(ErrorCode::limit, fmt::format("'{}' is more memory than 64 bits can count", text));
  }
  size_t end = digits;
  double fraction = 0;
  if (end < text.size() && text[end] == '.') {
    ++end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == digits + 1) return not_a_size(text);
    std::from_chars(text.data() + digits, text.data() + end, fraction);
  }
  size_t unit_begin = end;
  while (unit_begin < text.size() && text[unit_begin] == ' ') ++unit_begin;
  const int64_t unit = unit_size(text.substr(unit_begin));
  if (unit == 0) return not_a_size(text);
  int64_t total = 0;
  if (__builtin_mul_overflow(whole, unit, &total) ||
      __builtin_add_overflow(total, std::llround(fraction * static_cast<double>(unit)), &total)) {
    return fail(ErrorCode::limit, fmt::format("'{}' is more memory than 64 bits can count", text));
  }
  return Bytes(total);
}

}  // namespace ullage
