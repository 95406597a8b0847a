// Resize, Upsample, GridSample, AffineGrid.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

std::string interpolation(std::string_view mode, int rank) {
  if (mode == "linear" || mode == "bilinear") return rank == 3 ? "linear" : rank == 5 ? "trilinear" : "bilinear";
  return mode == "cubic" ? "bicubic" : "nearest";
}

Size scaled(Size in, double factor) {
  const auto one = [&](int64_t n) {
    const double out = std::floor(static_cast<double>(n) * factor);
    return out > 0 && out < 9e18 ? static_cast<int64_t>(out) : 0;
  };
  return {one(in.now), one(in.was)};
}

Status finish(Call& c, const Sizes& y) {
  const bool corners = c.text("coordinate_transformation_mode") == "align_corners";
  return c.result("interpolate", {c.id(0)}, c.dtype(0), y,
                  {{"mode", interpolation(c.text("mode", "nearest"), y.rank())}, {"align_corners", int64_t{corners}}});
}

// The factors in input i, or null when their values are not known (an empty input counts as absent).
std::vector<double> factors_of(const Call& c, size_t i) {
  std::vector<double> factors;
  const Content* content = c.content(i);
  for (size_t k = 0; content && k < content->count(); ++k) factors.push_back(content->real(k));
  return factors;
}

Status resize(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const size_t scales_at = c.opset() < 11 ? 1 : 2;
  Sizes y = c.sizes(0);
  std::vector<int64_t> axes = c.ints("axes");
  if (axes.empty()) {
    for (int d = 0; d < y.rank(); ++d) axes.push_back(d);
  }
  const bool by_sizes = c.opset() >= 11 && c.has(3) && c.sizes(3).numel().now > 0;
  const bool readable = by_sizes ? c.content(3) != nullptr : c.content(scales_at) != nullptr;
  if (!readable) {
    const auto made = c.declared(0);
    if (!made)
      return c.unsupported("its output size depends on values that are not in the file",
                           "put the external data beside the model");
    c.note("data_dependent_shape");
    return finish(c, made->sizes);
  }
  if (by_sizes) {
    UL_TRY(const std::vector<Size> wanted, c.known(3, "sizes"));
    if (wanted.size() != axes.size()) return c.error("sizes do not fit the axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      UL_TRY(const int d, c.axis(axes[i], y.rank()));
      if (y[d].moved() && !wanted[i].moved()) {
        if (wanted[i].was != y[d].was)
          return c.unsupported("its sizes were fixed at export", "export the model with dynamic dimensions");
        c.rebatched("sizes of Resize");
        continue;
      }
      y[d] = wanted[i];
    }
    return finish(c, y);
  }
  const std::vector<double> factors = factors_of(c, scales_at);
  if (factors.size() != axes.size()) return c.error("scales do not fit the axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    UL_TRY(const int d, c.axis(axes[i], y.rank()));
    y[d] = scaled(y[d], factors[i]);
  }
  return finish(c, y);
}

Status upsample(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  Sizes y = c.sizes(0);
  std::vector<double> factors = factors_of(c, 1);
  if (factors.empty()) {
    for (const float f : c.node().reals("scales")) factors.push_back(static_cast<double>(f));
  }
  if (factors.empty() && c.has_attr("height_scale") && y.rank() == 4)
    factors = {1, 1, c.real("height_scale", 1), c.real("width_scale", 1)};
  if (static_cast<int>(factors.size()) != y.rank()) return c.error("scales do not fit the input's rank");
  for (int d = 0; d < y.rank(); ++d) y[d] = scaled(y[d], factors[static_cast<size_t>(d)]);
  return finish(c, y);
}

Status grid_sample(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) != c.rank(1) || c.rank(0) < 3) return c.error("input and grid are not alike");
  Sizes y{c.sizes(0)[0], c.sizes(0)[1]};
  for (int d = 1; d + 1 < c.rank(1); ++d) y.push(c.sizes(1)[d]);
  return c.result("grid_sampler", {c.id(0), c.id(1)}, c.dtype(0), y,
                  {{"interpolation_mode", std::string(c.text("mode", "linear"))},
                   {"padding_mode", std::string(c.text("padding_mode", "zeros"))},
                   {"align_corners", c.attr("align_corners", 0)}});
}

Status affine_grid(Call& c) {
  if (!c.has(0)) return c.error("theta is missing");
  UL_TRY(const std::vector<Size> size, c.known(1, "size"));
  if (size.size() != 4 && size.size() != 5) return c.error("size is neither [N,C,H,W] nor [N,C,D,H,W]");
  Sizes y{size[0]};
  std::vector<int64_t> list;
  for (const Size s : size) list.push_back(s.now);
  for (size_t d = 2; d < size.size(); ++d) y.push(size[d]);
  y.push(static_cast<int64_t>(size.size()) - 2);
  return c.result("affine_grid", {c.id(0)}, c.dtype(0), y, {{"size", list}});
}

constexpr OpRule kRules[] = {
    {"", "AffineGrid", 20, affine_grid},
    {"", "GridSample", 16, grid_sample},
    {"", "Resize", 10, resize},
    {"", "Upsample", 7, upsample},
};

}  // namespace

std::span<const OpRule> resize_rules() { return kRules; }

}  // namespace ullage::onnx
