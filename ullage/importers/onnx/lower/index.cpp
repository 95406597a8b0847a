// Operators that read or write at places given by another tensor.

#include <algorithm>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
namespace {

// A table of the model that integer tokens look up: nn.Embedding.
bool is_table(const Call& c) {
  const DraftValue& table = c.value(0);
  return table.home == Home::stored && table.sizes.rank() == 2 && is_floating(table.dtype);
}

Status gather(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), c.rank(0)));
  const Sizes& x = c.sizes(0);
  const Sizes& places = c.sizes(1);
  if (x.rank() - 1 + places.rank() > kMaxRank) return c.unsupported("a result of too many dims");
  Sizes y;
  for (int d = 0; d < axis; ++d) y.push(x[d]);
  for (const Size s : places) y.push(s);
  for (int d = axis + 1; d < x.rank(); ++d) y.push(x[d]);
  const std::string_view aten = c.aten();
  if (places.rank() == 0) {
    const int64_t at = c.content(1) && c.content(1)->count() == 1 ? c.content(1)->integer(0).now : 0;
    return c.result("select", {c.id(0)}, c.dtype(0), y, {{"dim", int64_t{axis}}, {"index", at}});
  }
  const bool embedding = aten.empty() ? axis == 0 && is_table(c) : aten.starts_with("aten.embedding");
  if (embedding && axis == 0) {
    c.use(c.id(0), Use::weight);
    return c.result("embedding", {c.id(0), c.id(1)}, c.dtype(0), y);
  }
  if (places.rank() == 1 && !aten.starts_with("aten.index.Tensor")) {
    return c.result("index_select", {c.id(0), c.id(1)}, c.dtype(0), y, {{"dim", int64_t{axis}}});
  }
  std::vector<DraftId> inputs{c.id(0)};
  inputs.resize(static_cast<size_t>(axis) + 1);
  inputs.push_back(c.id(1));
  return c.result("index", std::move(inputs), c.dtype(0), y);
}

Status gather_elements(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), c.rank(0)));
  return c.result("gather", {c.id(0), c.id(1)}, c.dtype(0), c.sizes(1), {{"dim", int64_t{axis}}});
}

Status gather_nd(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(1) < 1) return c.error("an input is missing");
  const Sizes& x = c.sizes(0);
  const Sizes& places = c.sizes(1);
  const int64_t batch = c.attr("batch_dims", 0);
  const int64_t depth = places[-1].now;
  if (batch < 0 || depth < 0 || batch + depth > x.rank() || places.rank() - 1 + x.rank() - batch - depth > kMaxRank) {
    return c.error("the indices do not fit the input");
  }
  Sizes y;
  for (int d = 0; d + 1 < places.rank(); ++d) y.push(places[d]);
  for (int d = static_cast<int>(batch + depth); d < x.rank(); ++d) y.push(x[d]);
  return c.result("index", {c.id(0), c.id(1)}, c.dtype(0), y);
}

Status scatter_elements(Call& c) {
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("an input is missing");
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), c.rank(0)));
  const bool adds = c.text("reduction") == "add";
  return c.result(adds ? "scatter_add" : "scatter", {c.id(0), c.id(1), c.id(2)}, c.dtype(0), c.sizes(0),
                  {{"dim", int64_t{axis}}});
}

Status scatter_nd(Call& c) {
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("an input is missing");
  return c.result("index_put", {c.id(0), c.id(2), c.id(1)}, c.dtype(0), c.sizes(0),
                  {{"accumulate", int64_t{c.text("reduction") == "add"}}});
}

// TensorScatter (opset 24): writes `update` into a cache.
Status tensor_scatter(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  std::vector<DraftId> inputs{c.id(0), c.id(1)};
  if (c.has(2)) inputs.push_back(c.id(2));
  return c.result("index_put", std::move(inputs), c.dtype(0), c.sizes(0), {{"accumulate", int64_t{0}}});
}

Status non_zero(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  Size count = c.sizes(0).numel();
  if (const Content* known = c.content(0)) {
    int64_t hits = 0;
    for (size_t i = 0; i < known->count(); ++i) hits += known->real(i) != 0;
    count = hits;
  } else if (const auto made = c.declared(0); made && made->sizes.rank() == 2 && made->sizes[1].now > 1) {
    count = made->sizes[1];
  } else {
    c.note("data_dependent_shape");
  }
  return c.result("nonzero", {c.id(0)}, DType::i64, Sizes{Size(c.rank(0)), count});
}

Status one_hot(Call& c) {
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("an input is missing");
  UL_TRY(const std::vector<Size> depth, c.known(1, "depth"));
  if (depth.size() != 1 || depth[0].now < 0 || c.rank(0) + 1 > kMaxRank) return c.error("depth is not one number");
  UL_TRY(const int axis, c.axis(c.attr("axis", -1), c.rank(0) + 1));
  Sizes y = c.sizes(0);
  y.insert(axis, depth[0]);
  const DType dtype = c.dtype(2);
  const DraftId hot = c.step("one_hot", {c.id(0)}, DType::i64, y, {{"num_classes", depth[0].now}});
  c.set(0, dtype == DType::i64 ? hot : c.step("to", {hot}, dtype, y, {{"dtype", std::string(name_of(dtype))}}));
  return {};
}

Status compress(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  Sizes y = c.sizes(0);
  int64_t hits = -1;
  if (const Content* known = c.content(1)) {
    hits = 0;
    for (size_t i = 0; i < known->count(); ++i) hits += known->real(i) != 0;
  } else {
    c.note("data_dependent_shape");
  }
  int64_t dim = 0;
  if (c.has_attr("axis")) {
    UL_TRY(const int axis, c.axis(c.attr("axis", 0), y.rank()));
    if (hits >= 0) y[axis] = hits;
    dim = axis;
  } else {
    y = Sizes{hits >= 0 ? Size(hits) : y.numel()};
  }
  return c.result("index_select", {c.id(0), c.id(1)}, c.dtype(0), y, {{"dim", dim}});
}

Status unique(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  c.note("data_dependent_shape");
  const Size all = c.sizes(0).numel();
  Sizes y{all};
  if (c.has_attr("axis")) y = c.sizes(0);
  const std::vector<Made> made{{c.dtype(0), y}, {DType::i64, Sizes{all}}};
  const auto outputs = c.steps("sort", {c.id(0)}, made, {{"dim", int64_t{0}}, {"descending", int64_t{0}}});
  c.set(0, outputs[0]);
  for (size_t k = 1; k < 4; ++k) c.set(k, outputs[1]);
  return {};
}

// Up to max_output_boxes_per_class × classes × batch rows of 3.
Status non_max_suppression(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) != 3 || c.rank(1) != 3) return c.error("wants boxes and scores of 3 dims");
  c.note("data_dependent_shape");
  const Sizes& boxes = c.sizes(0);
  const Sizes& scores = c.sizes(1);
  Size most = boxes[1];
  if (c.number(2))
    most = {std::min(most.now, static_cast<int64_t>(*c.number(2))),
            std::min(most.was, static_cast<int64_t>(*c.number(2)))};
  const Size rows = scores[0] * scores[1] * most;
  return c.result("nms", {c.id(0), c.id(1)}, DType::i64, Sizes{rows, Size(3)});
}

constexpr OpRule kRules[] = {
    {"", "Compress", 9, compress},
    {"", "Gather", 1, gather},
    {"", "GatherElements", 11, gather_elements},
    {"", "GatherND", 11, gather_nd},
    {"", "NonMaxSuppression", 10, non_max_suppression},
    {"", "NonZero", 9, non_zero},
    {"", "OneHot", 9, one_hot},
    {"", "Scatter", 9, scatter_elements},
    {"", "ScatterElements", 11, scatter_elements},
    {"", "ScatterND", 11, scatter_nd},
    {"", "TensorScatter", 24, tensor_scatter},
    {"", "Unique", 11, unique},
};

}  // namespace

std::span<const OpRule> index_rules() { return kRules; }

}  // namespace ullage::onnx
