#include "ullage/ir/shape.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ullage {

void Shape::insert(int dim, int64_t size) {
  check(dim >= 0 && dim <= rank_, "Shape::insert: dim out of range");
  push(size);
  std::rotate(sizes_.begin() + dim, sizes_.begin() + rank_ - 1, sizes_.begin() + rank_);
}

void Shape::erase(int dim) {
  if (dim < 0) dim += rank_;
  check(dim >= 0 && dim < rank_, "Shape::erase: dim out of range");
  std::copy(sizes_.begin() + dim + 1, sizes_.begin() + rank_, sizes_.begin() + dim);
  sizes_[--rank_] = 0;
}

std::string Shape::to_string() const {
  return is_scalar() ? "scalar" : fmt::format("{}", fmt::join(begin(), end(), "x"));
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  for (int i = 1; i <= shorter.rank(); ++i) {
    const int64_t x = longer[-i];
    const int64_t y = shorter[-i];
    if (x != y && x != 1 && y != 1) {
      return fail(ErrorCode::format, fmt::format("shapes {} and {} do not broadcast: {} against {} in dim {}",
                                                 a.to_string(), b.to_string(), a[-i], b[-i], -i));
    }
    out.set(-i, x == 1 ? y : x);
  }
  return out;
}

Result<Shape> parse_shape(std::string_view text) {
  if (text == "scalar") return Shape();
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a shape: {}", text, why), "",
                "write sizes with x between them: 1x3x224x224");
  };
  Shape out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error == std::errc::result_out_of_range) return refuse("a size has more than 64 bits");
    if (error != std::errc()) return refuse("a size is missing or not a number");
    if (size < 0) return refuse("a size is negative");
    if (out.rank() == kMaxRank) return refuse(fmt::format("it has more than {} sizes", kMaxRank));
    out.push(size);
    if (next == end) return out;
    if (*next != 'x' && *next != 'X' && *next != ',') return refuse("sizes are separated by x");
    at = next + 1;
  }
}

}  // namespace ullage
