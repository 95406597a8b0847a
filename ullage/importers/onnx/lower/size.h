// Size: one dimension, known twice: `now` at the shapes a recipe asks for, `was` at the shapes the file was exported
// with. The two differ only where a graph frozen at one batch is run at another; all shape arithmetic keeps both, so a
// dimension that follows the batch is recognised by now != was, and a constant (now == was) that should have followed
// it by sizes that stop going together.
//
//   input frozen at batch 1, asked for 8:   [8|1, 3, 224, 224]      after Flatten: [8|1, 150528]
//
// Not a symbolic algebra: both worlds are plain numbers.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "ullage/base/bytes.h"
#include "ullage/ir/shape.h"

namespace ullage::onnx {

struct Size {
  int64_t now = 0;
  int64_t was = 0;

  constexpr Size() = default;
  constexpr Size(int64_t both) : now(both), was(both) {}  // NOLINT: a plain number is a size
  constexpr Size(int64_t n, int64_t w) : now(n), was(w) {}

  constexpr bool moved() const { return now != was; }
  constexpr bool operator==(const Size&) const = default;
  friend constexpr Size operator+(Size a, Size b) {
    return {saturating_add(a.now, b.now), saturating_add(a.was, b.was)};
  }
  friend constexpr Size operator-(Size a, Size b) { return a + b * Size(-1); }
  friend constexpr Size operator*(Size a, Size b) {
    return {saturating_mul(a.now, b.now), saturating_mul(a.was, b.was)};
  }
};

// Division towards minus infinity in both worlds; 0 where the divisor is 0.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return saturating_mul(a, -1);
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
constexpr Size floor_div(Size a, Size b) { return {floor_div(a.now, b.now), floor_div(a.was, b.was)}; }
constexpr Size ceil_div(Size a, Size b) { return Size(0) - floor_div(Size(0) - a, b); }

// The sizes of a tensor, held inline; rank at most kMaxRank (the callers that grow one from a file check first).
class Sizes {
 public:
  constexpr Sizes() = default;
  constexpr Sizes(std::initializer_list<Size> sizes) {
    for (const Size s : sizes) push(s);
  }
  constexpr explicit Sizes(std::span<const Size> sizes) {
    for (const Size s : sizes) push(s);
  }

  int rank() const { return rank_; }
  constexpr Size& operator[](int dim) { return sizes_[static_cast<size_t>(dim < 0 ? dim + rank_ : dim)]; }
  constexpr const Size& operator[](int dim) const { return sizes_[static_cast<size_t>(dim < 0 ? dim + rank_ : dim)]; }
  constexpr void push(Size s) {
    if (rank_ >= kMaxRank) check(false, "Sizes: rank above kMaxRank must be refused by the caller");
    sizes_[rank_++] = s;
  }
  constexpr void insert(int dim, Size s) {
    push(s);
    for (int i = rank_ - 1; i > dim; --i) sizes_[static_cast<size_t>(i)] = sizes_[static_cast<size_t>(i) - 1];
    sizes_[static_cast<size_t>(dim)] = s;
  }
  constexpr void erase(int dim) {
    for (int i = dim; i + 1 < rank_; ++i) sizes_[static_cast<size_t>(i)] = sizes_[static_cast<size_t>(i) + 1];
    --rank_;
  }
  std::span<const Size> all() const { return {sizes_.data(), static_cast<size_t>(rank_)}; }
  const Size* begin() const { return sizes_.data(); }
  const Size* end() const { return sizes_.data() + rank_; }
  Size numel(int from = 0, int to = -1) const {  // product of dims [from, to); to = -1: all
    Size n = 1;
    for (int i = from; i < (to < 0 ? rank_ : to); ++i) n = n * sizes_[static_cast<size_t>(i)];
    return n;
  }
  bool moved() const {
    for (const Size s : all())
      if (s.moved()) return true;
    return false;
  }
  Shape shape() const {
    Shape shape;
    for (const Size s : all()) shape.push(s.now);
    return shape;
  }
  bool operator==(const Sizes& o) const { return std::ranges::equal(all(), o.all()); }

 private:
  std::array<Size, kMaxRank> sizes_{};
  int rank_ = 0;
};

}  // namespace ullage::onnx
