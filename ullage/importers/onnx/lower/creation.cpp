// Operators that make a tensor from numbers.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {
namespace {

Status constant(Call& c) {
  const Node& node = c.node();
  if (const Tensor* tensor = node.tensor("value") ? node.tensor("value") : node.tensor("sparse_value")) {
    if (tensor->dims.size() > kMaxRank) return c.unsupported(fmt::format("a tensor of {} dims", tensor->dims.size()));
    const DraftId id = c.lowering().store(*tensor, true);
    DraftValue& value = c.lowering().draft().values[id];
    value.name = {};
    const bool numbers = value.content && (!value.content->is_real || value.content->count() <= 1);
    if (numbers) value.home = Home::host;
    c.set(0, id);
    return {};
  }
  if (const Attribute* a = node.find("value_int")) {
    c.set(0, c.host(DType::i64, {}, content_of(std::vector<Size>{a->integer})));
  } else if (const Attribute* b = node.find("value_float")) {
    c.set(0, c.host(DType::f32, {}, content_of(std::vector<double>{meant(b->real)})));
  } else if (const Attribute* d = node.find("value_ints")) {
    c.set(0, c.host(DType::i64, Sizes{Size(static_cast<int64_t>(d->integers.size()))},
                    content_of(std::vector<Size>(d->integers.begin(), d->integers.end()))));
  } else if (const Attribute* e = node.find("value_floats")) {
    std::vector<double> reals;
    for (const float x : e->reals) reals.push_back(meant(x));
    c.set(0, c.host(DType::f32, Sizes{Size(static_cast<int64_t>(e->reals.size()))}, content_of(std::move(reals))));
  } else if (node.find("value_string") || node.find("value_strings")) {
    const Attribute* texts = node.find("value_strings");
    c.set(0, c.host(DType::string, texts ? Sizes{Size(static_cast<int64_t>(texts->texts.size()))} : Sizes{}, nullptr));
  } else {
    return c.error("no value");
  }
  return {};
}

Status constant_of_shape(Call& c) {
  Sizes sizes;
  if (c.content(0) || !c.declared(0)) {
    UL_TRY(const std::vector<Size> shape, c.known(0, "shape"));
    if (shape.size() > kMaxRank) return c.unsupported(fmt::format("a tensor of {} dims", shape.size()));
    sizes = Sizes(shape);
  } else {
    sizes = c.declared(0)->sizes;
    c.note("data_dependent_shape");
  }
  for (const Size s : sizes) {
    if (s.now < 0) return c.error("a negative size");
  }
  const Tensor* value = c.node().tensor("value");
  const DType dtype = value ? value->dtype : DType::f32;
  const DraftId y = c.step("full", {}, dtype, sizes);
  const int64_t count = sizes.numel().now;
  if (!sizes.moved() && count <= kMaxContent) {
    double fill = 0;
    if (value && value->numel() == 1) {
      if (const auto reals = read_reals(c.lowering().model(), *value)) fill = (*reals)[0];
    }
    const auto n = static_cast<size_t>(count);
    c.lowering().draft().values[y].content = is_floating(dtype)
                                                 ? content_of(std::vector<double>(n, fill))
                                                 : content_of(std::vector<Size>(n, Size(static_cast<int64_t>(fill))));
  }
  c.set(0, y);
  return {};
}

Status range(Call& c) {
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("an input is missing");
  const Content* start = c.content(0);
  const Content* limit = c.content(1);
  const Content* delta = c.content(2);
  Size count = 1;
  const bool known = start && limit && delta && start->count() == 1 && limit->count() == 1 && delta->count() == 1;
  if (known && !start->is_real && !limit->is_real && !delta->is_real) {
    const Size by = delta->ints[0];
    if (by.now == 0) return c.error("a step of 0");
    count = ceil_div(limit->ints[0] - start->ints[0], by);
  } else if (known) {
    const double n = std::ceil((limit->real(0) - start->real(0)) / delta->real(0));
    count = n > 0 && n < 9e18 ? static_cast<int64_t>(n) : 0;
  } else if (const auto made = c.declared(0); made && made->sizes.rank() == 1) {
    count = made->sizes[0];
  } else {
    c.note("data_dependent_shape");
  }
  count = {std::max<int64_t>(0, count.now), std::max<int64_t>(0, count.was)};
  return c.result("arange", {}, c.dtype(0), Sizes{count});
}

Status eye_like(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const DType dtype = c.has_attr("dtype") ? dtype_of(static_cast<int32_t>(c.attr("dtype", 1))) : c.dtype(0);
  return c.result("eye", {}, dtype, c.sizes(0));
}

constexpr OpRule kRules[] = {
    {"", "Constant", 1, constant},
    {"", "ConstantOfShape", 9, constant_of_shape},
    {"", "EyeLike", 9, eye_like},
    {"", "Range", 11, range},
};

}  // namespace

std::span<const OpRule> creation_rules() { return kRules; }

}  // namespace ullage::onnx
