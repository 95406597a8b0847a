// Shape: the concrete sizes of a tensor, rank at most kMaxRank, held inline so that copying one allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"

namespace ullage {

inline constexpr int kMaxRank = 12;  // the deepest we have seen is 8 (window partitions); importers refuse more

class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> sizes)
      : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}
  constexpr explicit Shape(std::span<const int64_t> sizes) : rank_(static_cast<uint8_t>(sizes.size())) {
    if (sizes.size() > kMaxRank) check(false, "Shape: rank above kMaxRank must be refused by the importer");
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  }

  int rank() const { return rank_; }
  bool is_scalar() const { return rank_ == 0; }
  int64_t operator[](int dim) const { return sizes_[static_cast<size_t>(dim < 0 ? dim + rank_ : dim)]; }
  void set(int dim, int64_t size) { sizes_[static_cast<size_t>(dim < 0 ? dim + rank_ : dim)] = size; }
  void push(int64_t size) {
    check(rank_ < kMaxRank, "Shape: rank above kMaxRank");
    sizes_[rank_++] = size;
  }
  void insert(int dim, int64_t size);
  void erase(int dim);
  std::span<const int64_t> sizes() const { return {sizes_.data(), rank_}; }
  auto begin() const { return sizes_.begin(); }
  auto end() const { return sizes_.begin() + rank_; }

  // Product of the sizes; saturates (a hostile shape becomes absurd, never small). 1 for a scalar.
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t size : sizes()) n = saturating_mul(n, size);
    return n;
  }
  bool operator==(const Shape& o) const { return std::ranges::equal(sizes(), o.sizes()); }
  std::string to_string() const;  // "32x3x224x224"; "scalar"

 private:
  std::array<int64_t, kMaxRank> sizes_{};
  uint8_t rank_ = 0;
};

// NumPy/PyTorch broadcasting of two shapes; an error names the sizes that do not go together.
Result<Shape> broadcast(const Shape& a, const Shape& b);
// "1x3x224x224" → Shape
Result<Shape> parse_shape(std::string_view text);

}  // namespace ullage
