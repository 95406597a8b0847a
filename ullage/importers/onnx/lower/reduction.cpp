// Reduce*, ArgMax/ArgMin, Softmax family, TopK, CumSum, CumProd.

#include <algorithm>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/call.h"
#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

struct Reduction {
  std::string_view onnx;
  std::string_view aten;  // empty: more than one step
};

constexpr Reduction kReductions[] = {
    {"ReduceL1", ""},      {"ReduceL2", "norm"},    {"ReduceLogSum", ""},  {"ReduceLogSumExp", "logsumexp"},
    {"ReduceMax", "amax"}, {"ReduceMean", "mean"},  {"ReduceMin", "amin"}, {"ReduceProd", "prod"},
    {"ReduceSum", "sum"},  {"ReduceSumSquare", ""},
};

Status reduce(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const auto* row = std::ranges::find(kReductions, c.node().op, &Reduction::onnx);
  const DType dtype = c.dtype(0);
  const Sizes x = c.sizes(0);
  UL_TRY(const auto given, c.ints_or_input("axes", 1));
  const bool keep = c.attr("keepdims", 1) != 0;
  std::vector<int64_t> dims;
  if (given && !given->empty()) {
    UL_TRY(dims, c.axes(*given, x.rank()));
  } else if (c.attr("noop_with_empty_axes", 0)) {
    c.set(0, c.id(0));
    return {};
  }
  const bool all = dims.empty();
  Sizes y = x;
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (!all && !std::ranges::binary_search(dims, d)) continue;
    if (keep) {
      y[d] = 1;
    } else {
      y.erase(d);
    }
  }
  std::vector<Attr> attrs;
  if (!all) attrs.push_back({"dim", dims});
  if (!all || keep) attrs.push_back({"keepdim", int64_t{keep}});
  // nn.AdaptiveAvgPool with size 1 is a mean of the spatial dims; the exporter says which of the two it was.
  if (row->aten == "mean" && c.aten().starts_with("aten.adaptive_avg_pool") && keep && x.rank() >= 3) {
    constexpr std::string_view kPools[] = {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
    if (dims.size() <= 3) {
      return c.result(kPools[dims.size() - 1], {c.id(0)}, dtype, y,
                      {{"output_size", std::vector<int64_t>(dims.size(), 1)}});
    }
  }
  if (!row->aten.empty()) {
    if (row->aten == "norm") attrs.push_back({"p", 2.0});
    return c.result(row->aten, {c.id(0)}, dtype, y, std::move(attrs));
  }
  if (row->onnx == "ReduceL1") {
    return c.result("sum", {c.step("abs", {c.id(0)}, dtype, x)}, dtype, y, std::move(attrs));
  }
  if (row->onnx == "ReduceLogSum") {
    return c.result("log", {c.step("sum", {c.id(0)}, dtype, y, std::move(attrs))}, dtype, y);
  }
  return c.result("sum", {c.step("pow", {c.id(0)}, dtype, x, {{"exponent", int64_t{2}}})}, dtype, y, std::move(attrs));
}

Status arg(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  Sizes y = c.sizes(0);
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), y.rank()));
  const bool keep = c.attr("keepdims", 1) != 0;
  if (y.rank() > 0) {
    if (keep) {
      y[axis] = 1;
    } else {
      y.erase(axis);
    }
  }
  return c.result(c.node().op == "ArgMax" ? "argmax" : "argmin", {c.id(0)}, DType::i64, y,
                  {{"dim", int64_t{axis}}, {"keepdim", int64_t{keep}}});
}

// Before opset 13 the input is seen as a matrix, cut at axis: a softmax over several dims at once.
Status softmax(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const Sizes x = c.sizes(0);
  const DType dtype = c.dtype(0);
  const std::string_view op = c.node().op == "LogSoftmax" ? "log_softmax" : "softmax";
  UL_TRY(const int axis, c.axis(c.attr("axis", c.opset() >= 13 ? -1 : 1), x.rank()));
  const bool several = c.opset() < 13 && x.numel(axis + 1).now != 1;
  if (!several) return c.result(op, {c.id(0)}, dtype, x, {{"dim", int64_t{axis}}});
  const Sizes flat{x.numel(0, axis), x.numel(axis)};
  DraftId y = c.step("reshape", {c.id(0)}, dtype, flat, {{"shape", as_ints(flat)}});
  y = c.step(op, {y}, dtype, flat, {{"dim", int64_t{1}}});
  return c.result("reshape", {y}, dtype, x, {{"shape", as_ints(x)}});
}

Status hardmax(Call& c) {  // one_hot(argmax)
  if (!c.has(0)) return c.error("the input is missing");
  const Sizes x = c.sizes(0);
  const DType dtype = c.dtype(0);
  UL_TRY(const int axis, c.axis(c.attr("axis", c.opset() >= 13 ? -1 : 1), x.rank()));
  Sizes row = x;
  if (x.rank() > 0) row.erase(axis);
  const DraftId best = c.step("argmax", {c.id(0)}, DType::i64, row, {{"dim", int64_t{axis}}, {"keepdim", int64_t{0}}});
  const DraftId hot = c.step("one_hot", {best}, DType::i64, x, {{"num_classes", x.rank() > 0 ? x[axis].now : 1}});
  return c.result("to", {hot}, dtype, x, {{"dtype", std::string(name_of(dtype))}});
}

Status top_k(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  Sizes y = c.sizes(0);
  UL_TRY(const int axis, c.axis(c.attr("axis", -1), y.rank()));
  if (y.rank() == 0) return c.error("of a scalar");
  Size k = c.attr("k", 1);
  if (c.opset() >= 10) {
    if (c.content(1)) {
      UL_TRY(const std::vector<Size> given, c.known(1, "k"));
      if (given.size() != 1) return c.error("k is not one number");
      k = given[0];
    } else if (const auto made = c.declared(0); made && made->sizes.rank() == y.rank()) {
      k = made->sizes[axis];
    } else {
      c.note("data_dependent_shape");
      k = y[axis];
    }
  }
  y[axis] = {std::min(k.now, y[axis].now), std::min(k.was, y[axis].was)};
  const std::vector<Made> made{{c.dtype(0), y}, {DType::i64, y}};
  const auto outputs = c.steps("topk", {c.id(0)}, made, {{"k", y[axis].now}, {"dim", int64_t{axis}}});
  c.set(0, outputs[0]);
  c.set(1, outputs[1]);
  return {};
}

Status cumulative(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const int64_t axis = c.number(1) ? static_cast<int64_t>(*c.number(1)) : 0;
  return c.result(c.node().op == "CumProd" ? "cumprod" : "cumsum", {c.id(0)}, c.dtype(0), c.sizes(0), {{"dim", axis}});
}

constexpr OpRule kRules[] = {
    {"", "ArgMax", 1, arg},          {"", "ArgMin", 1, arg},
    {"", "CumProd", 26, cumulative}, {"", "CumSum", 11, cumulative},
    {"", "Hardmax", 1, hardmax},     {"", "LogSoftmax", 1, softmax},
    {"", "ReduceL1", 1, reduce},     {"", "ReduceL2", 1, reduce},
    {"", "ReduceLogSum", 1, reduce}, {"", "ReduceLogSumExp", 1, reduce},
    {"", "ReduceMax", 1, reduce},    {"", "ReduceMean", 1, reduce},
    {"", "ReduceMin", 1, reduce},    {"", "ReduceProd", 1, reduce},
    {"", "ReduceSum", 1, reduce},    {"", "ReduceSumSquare", 1, reduce},
    {"", "Softmax", 1, softmax},     {"", "TopK", 1, top_k},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace ullage::onnx
