#include "ullage/importers/onnx/lower/content.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace ullage::onnx {

Size Content::integer(size_t i) const {
  if (!is_real) return ints[i];
  const double x = reals[i];
  if (std::isnan(x)) return 0;
  if (x >= 9.2e18) return std::numeric_limits<int64_t>::max();
  if (x <= -9.2e18) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

double meant(float stored) {
  std::array<char, 32> text{};
  double value = 0;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), stored).ptr;
  std::from_chars(text.data(), end, value);
  return value;
}

ContentPtr content_of(std::vector<Size> ints) {
  return std::make_shared<const Content>(Content{.is_real = false, .ints = std::move(ints), .reals = {}});
}

ContentPtr content_of(std::vector<double> reals) {
  return std::make_shared<const Content>(Content{.is_real = true, .ints = {}, .reals = std::move(reals)});
}

}  // namespace ullage::onnx
