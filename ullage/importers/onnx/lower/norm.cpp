// Normalisations.

#include "ullage/importers/onnx/lower/norm.h"

#include <cmath>

#include <fmt/format.h>

namespace ullage::onnx {

std::vector<int64_t> normalized_shape(const Sizes& x, int axis) {
  std::vector<int64_t> shape;
  for (int d = axis; d < x.rank(); ++d) shape.push_back(x[d].now);
  return shape;
}

namespace {

Status batch_normalization(Call& c) {
  for (size_t i = 0; i < 5; ++i) {
    if (!c.has(i)) return c.error(fmt::format("input {} is missing", i));
  }
  // Before opset 14 a training export names five outputs (or says is_test=0, before 7).
  const bool training = c.opset() >= 14  ? c.attr("training_mode", 0) != 0
                        : c.opset() >= 7 ? c.output_count() > 1
                                         : c.attr("is_test", 0) == 0 && c.output_count() > 1;
  for (size_t i = 1; i < 5; ++i) c.use(c.id(i), i < 3 ? Use::weight : Use::statistic);
  c.set(0, c.step("batch_norm", {c.id(0), c.id(1), c.id(2), c.id(3), c.id(4)}, c.dtype(0), c.sizes(0),
                  {{"training", int64_t{training}},
                   {"momentum", std::round((1 - c.real("momentum", 0.9)) * 1e9) / 1e9},
                   {"eps", c.real("epsilon", 1e-5)}}));
  // The statistics are updated in place: the outputs are the buffers themselves.
  for (size_t k = 1; k < c.output_count(); ++k) c.set(k, c.id(k % 2 == 1 ? 3 : 4));
  return {};
}

Status instance_normalization(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  return c.result("instance_norm", {c.id(0), c.id(1), c.id(2)}, c.dtype(0), c.sizes(0),
                  {{"eps", c.real("epsilon", 1e-5)}});
}

Status layer_normalization(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  UL_TRY(const int axis, c.axis(c.attr("axis", -1), c.rank(0)));
  Sizes rows = c.sizes(0);
  for (int d = axis; d < rows.rank(); ++d) rows[d] = 1;
  std::vector<Made> made{{c.dtype(0), c.sizes(0)}};
  for (size_t k = 1; k < 3; ++k) {
    if (c.wants(k)) made.push_back({DType::f32, rows});
  }
  const auto y = c.steps("layer_norm", {c.id(0), c.id(1), c.id(2)}, made,
                         {{"normalized_shape", normalized_shape(c.sizes(0), axis)}, {"eps", c.real("epsilon", 1e-5)}});
  for (size_t k = 0, next = 0; k < 3 && next < y.size(); ++k) {
    if (k == 0 || c.wants(k)) c.set(k, y[next++]);
  }
  return {};
}

Status rms_normalization(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  UL_TRY(const int axis, c.axis(c.attr("axis", -1), c.rank(0)));
  return c.result("rms_norm", {c.id(0), c.id(1)}, c.dtype(0), c.sizes(0),
                  {{"normalized_shape", normalized_shape(c.sizes(0), axis)}, {"eps", c.real("epsilon", 1e-5)}});
}

Status group_normalization(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  return c.result("group_norm", {c.id(0), c.id(1), c.id(2)}, c.dtype(0), c.sizes(0),
                  {{"num_groups", c.attr("num_groups", 1)}, {"eps", c.real("epsilon", 1e-5)}});
}

Status local_response(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  return c.result("local_response_norm", {c.id(0)}, c.dtype(0), c.sizes(0),
                  {{"size", c.attr("size", 1)},
                   {"alpha", c.real("alpha", 1e-4)},
                   {"beta", c.real("beta", 0.75)},
                   {"k", c.real("bias", 1)}});
}

// x / max(norm(x, p, axis), eps), as F.normalize writes it.
Status lp_normalization(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  UL_TRY(const int axis, c.axis(c.attr("axis", -1), c.rank(0)));
  const DraftId x = c.id(0);
  const DType dtype = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  Sizes row = sizes;
  row[axis] = 1;
  DraftId norm = c.step(
      "norm", {x}, dtype, row,
      {{"p", static_cast<double>(c.attr("p", 2))}, {"dim", std::vector<int64_t>{axis}}, {"keepdim", int64_t{1}}});
  norm = c.step("clamp", {norm}, dtype, row, {{"min", 1e-12}});
  norm = c.step("expand", {norm}, dtype, sizes, {{"size", normalized_shape(sizes, 0)}});
  return c.result("div", {x, norm}, dtype, sizes);
}

// (x − mean(x)) / (std(x) + 1e-9) over the axes.
Status mean_variance(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  std::vector<int64_t> axes = c.ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const std::vector<Size> wide(axes.begin(), axes.end());
  UL_TRY(axes, c.axes(wide, c.rank(0)));
  const DraftId x = c.id(0);
  const DType dtype = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  Sizes row = sizes;
  for (const int64_t d : axes) row[static_cast<int>(d)] = 1;
  const DraftId mean = c.step("mean", {x}, dtype, row, {{"dim", axes}, {"keepdim", int64_t{1}}});
  const DraftId centred = c.step("sub", {x, mean}, dtype, sizes);
  DraftId spread = c.step("std", {x}, dtype, row, {{"dim", axes}, {"keepdim", int64_t{1}}, {"correction", int64_t{0}}});
  spread = c.step("add", {spread}, dtype, row, {{"other", 1e-9}});
  return c.result("div", {centred, spread}, dtype, sizes);
}

constexpr OpRule kRules[] = {
    {"", "BatchNormalization", 1, batch_normalization},
    {"", "GroupNormalization", 18, group_normalization},
    {"", "InstanceNormalization", 1, instance_normalization},
    {"", "LRN", 1, local_response},
    {"", "LayerNormalization", 1, layer_normalization},  // since 17; ONNX Runtime wrote it into older opsets
    {"", "LpNormalization", 1, lp_normalization},
    {"", "MeanVarianceNormalization", 9, mean_variance},
    {"", "RMSNormalization", 23, rms_normalization},
    {"", "SimplifiedLayerNormalization", 1, rms_normalization},
    {"com.microsoft", "SimplifiedLayerNormalization", 1, rms_normalization},
};

}  // namespace

std::span<const OpRule> norm_rules() { return kRules; }

}  // namespace ullage::onnx
