// MaxPool, AveragePool, the global ones, LpPool, MaxUnpool, RoiAlign.

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/window.h"

namespace ullage::onnx {
namespace {

// "max_pool" and 2 → "max_pool2d", as a static name.
std::string_view by_rank(std::string_view base, int spatial) {
  constexpr std::string_view kMax[] = {"max_pool1d", "max_pool2d", "max_pool3d"};
  constexpr std::string_view kAvg[] = {"avg_pool1d", "avg_pool2d", "avg_pool3d"};
  constexpr std::string_view kGlobal[] = {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
  constexpr std::string_view kGlobalMax[] = {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"};
  const size_t i = static_cast<size_t>(spatial - 1);
  return base == "max" ? kMax[i] : base == "avg" ? kAvg[i] : base == "global_avg" ? kGlobal[i] : kGlobalMax[i];
}

Status spatial_rank(const Call& c, int at_most = 3) {
  if (!c.has(0)) return c.error("the input is missing");
  const int spatial = c.rank(0) - 2;
  if (spatial < 1 || spatial > at_most)
    return c.unsupported(fmt::format("pooling over an input of rank {}", c.rank(0)));
  return {};
}

Sizes pooled(const Sizes& x, const Window& window) {
  Sizes y{x[0], x[1]};
  for (int d = 2; d < x.rank(); ++d) y.push(window.output(x[d], static_cast<size_t>(d - 2)));
  return y;
}

Status max_pool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  UL_TRY(const Window window, window_of(c, c.sizes(0)));
  const Sizes y = pooled(c.sizes(0), window);
  DraftId x = c.id(0);
  if (!window.symmetric()) {
    Sizes sizes = c.sizes(0);
    for (size_t d = 0; d < window.begin.size(); ++d) {
      sizes[static_cast<int>(d) + 2] = sizes[static_cast<int>(d) + 2] + Size(std::abs(window.begin[d] - window.end[d]));
    }
    x = c.step("constant_pad_nd", {x}, c.dtype(0), sizes, {{"pad", window.excess_padding()}, {"value", -1e38}});
  }
  std::vector<Made> made{{c.dtype(0), y}};
  if (c.wants(1)) made.push_back({DType::i64, y});
  const auto outputs = c.steps(by_rank("max", c.rank(0) - 2), {x}, made,
                               {{"kernel_size", window.kernel},
                                {"stride", window.stride},
                                {"padding", window.common_padding()},
                                {"dilation", window.dilation},
                                {"ceil_mode", int64_t{window.ceil}}});
  for (size_t k = 0; k < outputs.size(); ++k) c.set(k, outputs[k]);
  return {};
}

Status average_pool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  UL_TRY(const Window window, window_of(c, c.sizes(0)));
  const Sizes y = pooled(c.sizes(0), window);
  DraftId x = c.id(0);
  if (!window.symmetric()) {
    Sizes sizes = c.sizes(0);
    for (size_t d = 0; d < window.begin.size(); ++d) {
      sizes[static_cast<int>(d) + 2] = sizes[static_cast<int>(d) + 2] + Size(std::abs(window.begin[d] - window.end[d]));
    }
    x = c.step("constant_pad_nd", {x}, c.dtype(0), sizes, {{"pad", window.excess_padding()}, {"value", 0.0}});
  }
  return c.result(by_rank("avg", c.rank(0) - 2), {x}, c.dtype(0), y,
                  {{"kernel_size", window.kernel},
                   {"stride", window.stride},
                   {"padding", window.common_padding()},
                   {"ceil_mode", int64_t{window.ceil}},
                   {"count_include_pad", c.attr("count_include_pad", 0)}});
}

Status lp_pool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  UL_TRY(const Window window, window_of(c, c.sizes(0)));
  return c.result("lp_pool", {c.id(0)}, c.dtype(0), pooled(c.sizes(0), window),
                  {{"norm_type", c.real("p", 2)},
                   {"kernel_size", window.kernel},
                   {"stride", window.stride},
                   {"ceil_mode", int64_t{window.ceil}}});
}

Sizes global_sizes(const Sizes& x) {
  Sizes y{x[0], x[1]};
  for (int d = 2; d < x.rank(); ++d) y.push(1);
  return y;
}

Status global_average_pool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  return c.result(by_rank("global_avg", c.rank(0) - 2), {c.id(0)}, c.dtype(0), global_sizes(c.sizes(0)),
                  {{"output_size", std::vector<int64_t>(static_cast<size_t>(c.rank(0) - 2), 1)}});
}

Status global_max_pool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  return c.result(by_rank("global_max", c.rank(0) - 2), {c.id(0)}, c.dtype(0), global_sizes(c.sizes(0)),
                  {{"output_size", std::vector<int64_t>(static_cast<size_t>(c.rank(0) - 2), 1)}});
}

Status global_lp_pool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  std::vector<int64_t> dims;
  for (int d = 2; d < c.rank(0); ++d) dims.push_back(d);
  return c.result("norm", {c.id(0)}, c.dtype(0), global_sizes(c.sizes(0)),
                  {{"p", c.real("p", 2)}, {"dim", dims}, {"keepdim", int64_t{1}}});
}

Status max_unpool(Call& c) {
  UL_TRY_STATUS(spatial_rank(c));
  if (!c.has(1)) return c.error("the indices are missing");
  Sizes y = c.sizes(0);
  if (c.has(2)) {
    UL_TRY(const std::vector<Size> wanted, c.known(2, "output_shape"));
    if (static_cast<int>(wanted.size()) != y.rank()) return c.error("output_shape does not fit the input's rank");
    y = Sizes(wanted);
  } else {
    UL_TRY(const Window w, window_of(c, c.sizes(0)));
    for (size_t d = 0; d < w.kernel.size(); ++d) {
      Size& size = y[static_cast<int>(d) + 2];
      size = (size - Size(1)) * Size(w.stride[d]) + Size(w.kernel[d] - w.begin[d] - w.end[d]);
    }
  }
  std::vector<int64_t> output_size;
  for (int d = 2; d < y.rank(); ++d) output_size.push_back(y[d].now);
  return c.result("max_unpool2d", {c.id(0), c.id(1)}, c.dtype(0), y, {{"output_size", output_size}});
}

// RoiAlign(X, rois, batch_indices) and MaxRoiPool(X, rois): one row of output a region.
Status roi_pool(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) != 4 || c.rank(1) != 2) return c.error("wants a 4-D input and 2-D regions");
  std::vector<int64_t> size = c.ints("pooled_shape");
  if (size.size() != 2) size = {c.attr("output_height", 1), c.attr("output_width", 1)};
  return c.result("roi_align", {c.id(0), c.id(1)}, c.dtype(0),
                  Sizes{c.sizes(1)[0], c.sizes(0)[1], Size(size[0]), Size(size[1])},
                  {{"output_size", size}, {"spatial_scale", c.real("spatial_scale", 1)}});
}

constexpr OpRule kRules[] = {
    {"", "AveragePool", 1, average_pool},
    {"", "GlobalAveragePool", 1, global_average_pool},
    {"", "GlobalLpPool", 1, global_lp_pool},
    {"", "GlobalMaxPool", 1, global_max_pool},
    {"", "LpPool", 1, lp_pool},
    {"", "MaxPool", 1, max_pool},
    {"", "MaxRoiPool", 1, roi_pool},
    {"", "MaxUnpool", 9, max_unpool},
    {"", "RoiAlign", 10, roi_pool},
};

}  // namespace

std::span<const OpRule> pooling_rules() { return kRules; }

}  // namespace ullage::onnx
