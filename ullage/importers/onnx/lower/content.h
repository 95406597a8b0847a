// Content: the elements of a small tensor, as far as an importer needs them: shapes, axes, slice bounds, scalars.
// Integers and bools are kept as Size (they may follow the batch), reals as double. Big tensors and weights have no
// content: payloads are never read.
#pragma once

#include <memory>
#include <vector>

#include "ullage/importers/onnx/lower/size.h"

namespace ullage::onnx {

inline constexpr int64_t kMaxContent = 1024;  // elements; the longest shape computation we know of has a few dozen

struct Content {
  bool is_real = false;
  std::vector<Size> ints;  // row-major; empty when is_real
  std::vector<double> reals;

  size_t count() const { return is_real ? reals.size() : ints.size(); }
  double real(size_t i) const { return is_real ? reals[i] : static_cast<double>(ints[i].now); }
  Size integer(size_t i) const;  // a real is cut towards zero, as Cast does
};

using ContentPtr = std::shared_ptr<const Content>;

// The decimal that was meant by a 32-bit real: 1e-5 is stored as 9.99999975e-06, and thresholds are compared with it.
double meant(float stored);

ContentPtr content_of(std::vector<Size> ints);
ContentPtr content_of(std::vector<double> reals);

}  // namespace ullage::onnx
