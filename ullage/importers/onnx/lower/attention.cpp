// Attention and RotaryEmbedding of the standard operators (opset 23).

#include "ullage/importers/onnx/lower/attention.h"

#include <charconv>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {

DraftId split_heads(Call& c, DraftId x, int64_t heads) {
  const DType dtype = c.value(x).dtype;
  Sizes sizes = c.value(x).sizes;
  const Size width = sizes[2];
  sizes[2] = heads;
  sizes.push(floor_div(width, Size(heads)));
  const DraftId view = c.step("view", {x}, dtype, sizes, {{"size", as_ints(sizes)}});
  std::swap(sizes[1], sizes[2]);
  return c.step("transpose", {view}, dtype, sizes, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}});
}

DraftId merge_heads(Call& c, DraftId x) {
  const DType dtype = c.value(x).dtype;
  Sizes sizes = c.value(x).sizes;
  std::swap(sizes[1], sizes[2]);
  const DraftId flipped = c.step("transpose", {x}, dtype, sizes, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}});
  const Sizes merged{sizes[0], sizes[1], sizes[2] * sizes[3]};
  return c.step("reshape", {flipped}, dtype, merged, {{"shape", as_ints(merged)}});
}

DraftId attend(Call& c, DraftId query, DraftId key, DraftId value, DraftId mask, bool causal) {
  Sizes y = c.value(query).sizes;
  y[-1] = c.value(value).sizes[-1];
  std::vector<Attr> attrs{{"is_causal", int64_t{causal}}};
  // ONNX's attention has no dropout; the exporter leaves its probability beside the node.
  double dropout = 0;
  const std::string_view text = find_metadata(c.node().metadata, "ullage.dropout_p");
  std::from_chars(text.data(), text.data() + text.size(), dropout);
  attrs.push_back({"dropout_p", dropout});
  if (y[1] != c.value(key).sizes[1]) attrs.push_back({"enable_gqa", int64_t{1}});
  if (c.has_attr("scale")) attrs.push_back({"scale", c.real("scale", 0)});
  std::vector<DraftId> inputs{query, key, value};
  if (mask) inputs.push_back(mask);
  return c.step("scaled_dot_product_attention", std::move(inputs), c.value(query).dtype, y, std::move(attrs));
}

DraftId rotate(Call& c, DraftId x, DraftId cosines, DraftId sines) {
  const DType dtype = c.value(x).dtype;
  const Sizes sizes = c.value(x).sizes;
  const int64_t last = sizes.rank() - 1;
  Sizes half = sizes;
  half[-1] = floor_div(sizes[-1], Size(2));
  const DraftId direct = c.step("mul", {x, cosines}, dtype, sizes);
  const DraftId first = c.step("slice", {x}, dtype, half,
                               {{"dim", last}, {"start", int64_t{0}}, {"end", half[-1].now}, {"step", int64_t{1}}});
  const DraftId second = c.step("slice", {x}, dtype, half,
                                {{"dim", last}, {"start", half[-1].now}, {"end", sizes[-1].now}, {"step", int64_t{1}}});
  const DraftId negative = c.step("neg", {second}, dtype, half);
  const DraftId turned = c.step("cat", {negative, first}, dtype, sizes, {{"dim", last}});
  const DraftId crossed = c.step("mul", {turned, sines}, dtype, sizes);
  return c.step("add", {direct, crossed}, dtype, sizes);
}

namespace {

// past + new along the sequence, when there is a past.
DraftId with_past(Call& c, DraftId x, size_t past) {
  if (!c.has(past)) return x;
  Sizes sizes = c.value(x).sizes;
  sizes[2] = sizes[2] + c.sizes(past)[2];
  return c.step("cat", {c.id(past), x}, c.value(x).dtype, sizes, {{"dim", int64_t{2}}});
}

Status attention(Call& c) {
  for (size_t i = 0; i < 3; ++i) {
    if (!c.has(i) || c.rank(i) != c.rank(0)) return c.error("query, key and value are not alike");
  }
  const int rank = c.rank(0);
  if (rank != 3 && rank != 4) return c.error(fmt::format("a query of {} dims", rank));
  DraftId q = c.id(0);
  DraftId k = c.id(1);
  DraftId v = c.id(2);
  if (rank == 3) {
    const int64_t heads = c.attr("q_num_heads", 0);
    const int64_t kv_heads = c.attr("kv_num_heads", heads);
    if (heads < 1 || kv_heads < 1) return c.error("q_num_heads is missing");
    q = split_heads(c, q, heads);
    k = split_heads(c, k, kv_heads);
    v = split_heads(c, v, kv_heads);
  }
  if ((c.has(4) && c.rank(4) != 4) || (c.has(5) && c.rank(5) != 4)) return c.error("a past that is not 4-D");
  k = with_past(c, k, 4);
  v = with_past(c, v, 5);
  const DraftId y = attend(c, q, k, v, c.id(3), c.attr("is_causal", 0) != 0);
  c.set(0, rank == 3 ? merge_heads(c, y) : y);
  c.set(1, k);
  c.set(2, v);
  if (c.wants(3)) {
    Sizes scores = c.value(q).sizes;
    scores[-1] = c.value(k).sizes[2];
    c.set(3, c.step("matmul", {q, k}, c.dtype(0), scores));
  }
  return {};
}

Status rotary(Call& c) {
  if (!c.has(0) || !c.has(1) || !c.has(2)) return c.error("an input is missing");
  if (c.rank(0) != 3 && c.rank(0) != 4) return c.error("an input that is neither 3-D nor 4-D");
  // The tables are looked up by position and hold half of the last dim; what the rotation reads is as wide as a head.
  Sizes table = c.sizes(0);
  if (c.rank(0) == 4) table[1] = 1;
  const DType dtype = c.dtype(0);
  const auto looked_up = [&](size_t i) {
    DraftId half = c.id(i);
    Sizes sizes = table;
    sizes[-1] = floor_div(table[-1], Size(2));
    if (c.has(3)) half = c.step("index", {half, c.id(3)}, dtype, sizes);
    return c.step("cat", {half, half}, dtype, table, {{"dim", int64_t{table.rank() - 1}}});
  };
  const DraftId cosines = looked_up(1);
  const DraftId sines = looked_up(2);
  c.set(0, rotate(c, c.id(0), cosines, sines));
  return {};
}

constexpr OpRule kRules[] = {{"", "Attention", 23, attention}, {"", "RotaryEmbedding", 23, rotary}};

}  // namespace

std::span<const OpRule> attention_rules() { return kRules; }

}  // namespace ullage::onnx
