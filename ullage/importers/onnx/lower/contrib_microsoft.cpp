// Fused operators of ONNX Runtime (com.microsoft), taken apart into what PyTorch runs.

#include <algorithm>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/attention.h"
#include "ullage/importers/onnx/lower/convolution.h"
#include "ullage/importers/onnx/lower/matmul.h"
#include "ullage/importers/onnx/lower/norm.h"
#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

// A slice [begin, begin + width) of the last dim.
DraftId columns(Call& c, DraftId x, Size begin, Size width) {
  Sizes sizes = c.value(x).sizes;
  sizes[-1] = width;
  return c.step(
      "slice", {x}, c.value(x).dtype, sizes,
      {{"dim", int64_t{sizes.rank() - 1}}, {"start", begin.now}, {"end", (begin + width).now}, {"step", int64_t{1}}});
}

// input [B,S,D], weights [D,3D], bias [3D], mask, past
Status attention(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) != 3 || c.rank(1) != 2) return c.error("input or weights are missing");
  const int64_t heads = c.attr("num_heads", 0);
  if (heads < 1) return c.error("num_heads is missing");
  const DType dtype = c.dtype(0);
  Sizes projected = c.sizes(0);
  const Size width = c.sizes(1)[1];
  projected[2] = width;
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  const DraftId weight = c.flipped(c.id(1));
  std::vector<DraftId> inputs{c.id(0), weight};
  if (c.has(2)) inputs.push_back(c.id(2));
  const DraftId qkv = c.step("linear", std::move(inputs), dtype, projected);
  std::vector<int64_t> parts = c.ints("qkv_hidden_sizes");
  if (parts.size() != 3) parts.assign(3, width.now / 3);
  std::vector<Made> made;
  for (const int64_t part : parts) {
    Sizes sizes = projected;
    sizes[2] = part;
    made.push_back({dtype, sizes});
  }
  const auto split = c.steps("split", {qkv}, made, {{"split_size", parts}, {"dim", int64_t{2}}});
  const DraftId q = split_heads(c, split[0], heads);
  const DraftId k = split_heads(c, split[1], heads);
  const DraftId v = split_heads(c, split[2], heads);
  c.set(0, merge_heads(c, attend(c, q, k, v, {}, c.attr("unidirectional", 0) != 0)));
  if (c.wants(1)) {
    Sizes present = c.value(k).sizes;
    present.insert(0, 2);
    c.set(1, c.step("stack", {k, v}, dtype, present, {{"dim", int64_t{0}}}));
  }
  return {};
}

// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value
Status multi_head_attention(Call& c) {
  const int64_t heads = c.attr("num_heads", 0);
  if (!c.has(0) || heads < 1) return c.error("query or num_heads is missing");
  DraftId q = c.id(0);
  DraftId k = c.id(1);
  DraftId v = c.id(2);
  const DType dtype = c.dtype(0);
  if (c.rank(0) == 5) {  // packed [B, S, heads, 3, d]
    Sizes sizes = c.sizes(0);
    sizes.erase(3);
    const std::vector<Made> made(3, Made{dtype, sizes});
    const auto parts = c.steps("unbind", {q}, made, {{"dim", int64_t{3}}});
    std::swap(sizes[1], sizes[2]);
    const auto turned = [&](DraftId x) {
      return c.step("transpose", {x}, dtype, sizes, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}});
    };
    q = turned(parts[0]);
    k = turned(parts[1]);
    v = turned(parts[2]);
  } else {
    if (c.rank(0) != 3 || !k || !v) return c.unsupported("packed keys and values");
    if (c.has(3)) {  // one bias for the three
      c.use(c.id(3), Use::weight);
      Size begin = 0;
      for (DraftId* x : {&q, &k, &v}) {
        if (c.value(*x).sizes.rank() != 3) continue;
        const Size width = c.value(*x).sizes[2];
        const DraftId part = columns(c, c.id(3), begin, width);
        const Sizes sizes = c.value(*x).sizes;
        *x = c.step("add", {*x, part}, dtype, sizes);
        begin = begin + width;
      }
    }
    q = split_heads(c, q, heads);
    if (c.value(k).sizes.rank() == 3) k = split_heads(c, k, heads);
    if (c.value(v).sizes.rank() == 3) v = split_heads(c, v, heads);
  }
  const auto append = [&](DraftId x, size_t past) {
    if (!c.has(past) || c.rank(past) != 4) return x;
    Sizes sizes = c.value(x).sizes;
    sizes[2] = sizes[2] + c.sizes(past)[2];
    return c.step("cat", {c.id(past), x}, dtype, sizes, {{"dim", int64_t{2}}});
  };
  k = append(k, 6);
  v = append(v, 7);
  c.set(0, merge_heads(c, attend(c, q, k, v, c.id(5), c.attr("unidirectional", 0) != 0)));
  c.set(1, k);
  c.set(2, v);
  return {};
}

// query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos, sin
Status group_query_attention(Call& c) {
  const int64_t heads = c.attr("num_heads", 0);
  const int64_t kv_heads = c.attr("kv_num_heads", heads);
  if (!c.has(0) || c.rank(0) != 3 || heads < 1 || kv_heads < 1) return c.error("query or num_heads is missing");
  DraftId q = c.id(0);
  DraftId k = c.id(1);
  DraftId v = c.id(2);
  const DType dtype = c.dtype(0);
  if (!k) {  // packed along the last dim
    const Size head = floor_div(c.sizes(0)[2], Size(heads + 2 * kv_heads));
    const DraftId packed = q;
    q = columns(c, packed, 0, head * Size(heads));
    k = columns(c, packed, head * Size(heads), head * Size(kv_heads));
    v = columns(c, packed, head * Size(heads + kv_heads), head * Size(kv_heads));
  }
  q = split_heads(c, q, heads);
  k = split_heads(c, k, kv_heads);
  v = split_heads(c, v, kv_heads);
  if (c.attr("do_rotary", 0) && c.has(7) && c.has(8)) {
    Sizes table = c.value(q).sizes;
    table[0] = 1;
    table[1] = 1;
    const DraftId cosines = c.step("cat", {c.id(7), c.id(7)}, dtype, table, {{"dim", int64_t{3}}});
    const DraftId sines = c.step("cat", {c.id(8), c.id(8)}, dtype, table, {{"dim", int64_t{3}}});
    q = rotate(c, q, cosines, sines);
    k = rotate(c, k, cosines, sines);
  }
  const auto append = [&](DraftId x, size_t past) {
    if (!c.has(past) || c.rank(past) != 4) return x;
    Sizes sizes = c.value(x).sizes;
    sizes[2] = sizes[2] + c.sizes(past)[2];
    return c.step("cat", {c.id(past), x}, dtype, sizes, {{"dim", int64_t{2}}});
  };
  k = append(k, 3);
  v = append(v, 4);
  c.set(0, merge_heads(c, attend(c, q, k, v, {}, true)));
  c.set(1, k);
  c.set(2, v);
  return {};
}

// input + skip (+ bias), then the norm; the sum is an output too.
Status skip_norm(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("input or skip is missing");
  const bool simplified = c.node().op == "SkipSimplifiedLayerNormalization";
  const DType dtype = c.dtype(0);
  UL_TRY(const Sizes sizes, c.broadcast(c.sizes(0), c.sizes(1)));
  const size_t bias_at = simplified ? 3 : 4;
  DraftId x = c.id(0);
  if (c.has(bias_at)) {
    c.use(c.id(bias_at), Use::weight);
    x = c.step("add", {x, c.id(bias_at)}, dtype, sizes);
  }
  x = c.step("add", {x, c.id(1)}, dtype, sizes);
  c.set(3, x);
  c.use(c.id(2), Use::weight);
  const std::vector<Attr> attrs{{"normalized_shape", normalized_shape(sizes, sizes.rank() - 1)},
                                {"eps", c.real("epsilon", 1e-5)}};
  if (simplified) return c.result("rms_norm", {x, c.id(2)}, dtype, sizes, attrs);
  c.use(c.id(3), Use::weight);
  return c.result("layer_norm", {x, c.id(2), c.id(3)}, dtype, sizes, attrs);
}

// ids, segments, word table, position table, segment table, gamma, beta, mask
Status embed_norm(Call& c) {
  if (!c.has(0) || !c.has(2) || !c.has(3) || c.rank(2) != 2 || c.rank(0) != 2) return c.error("an input is missing");
  const DType dtype = c.dtype(2);
  Sizes sizes = c.sizes(0);
  sizes.push(c.sizes(2)[1]);
  for (size_t i = 2; i < 7; ++i) c.use(c.id(i), Use::weight);
  DraftId sum = c.step("embedding", {c.id(2), c.id(0)}, dtype, sizes);
  Sizes row = sizes;
  row[0] = 1;
  const DraftId places = c.step("arange", {}, DType::i64, Sizes{Size(1), sizes[1]});
  const DraftId positions = c.step("embedding", {c.id(3), places}, dtype, row);
  sum = c.step("add", {sum, positions}, dtype, sizes);
  if (c.has(1) && c.has(4)) {
    const DraftId segments = c.step("embedding", {c.id(4), c.id(1)}, dtype, sizes);
    sum = c.step("add", {sum, segments}, dtype, sizes);
  }
  c.set(2, sum);
  if (c.wants(1)) c.set(1, c.step("full", {}, DType::i32, Sizes{sizes[0]}));
  return c.result("layer_norm", {sum, c.id(5), c.id(6)}, dtype, sizes,
                  {{"normalized_shape", normalized_shape(sizes, 2)}, {"eps", c.real("epsilon", 1e-12)}});
}

Status gelu(Call& c) {  // Gelu(x), BiasGelu(x, bias), FastGelu(x, bias), QuickGelu(x)
  if (!c.has(0)) return c.error("the input is missing");
  const std::string_view op = c.node().op;
  const DType dtype = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  DraftId x = c.id(0);
  if (c.has(1)) {
    c.use(c.id(1), Use::weight);
    x = c.step("add", {x, c.id(1)}, dtype, sizes);
  }
  if (op == "QuickGelu") {  // x · sigmoid(alpha · x)
    const DraftId scaled = c.step("mul", {x}, dtype, sizes, {{"other", c.real("alpha", 1.702)}});
    const DraftId gate = c.step("sigmoid", {scaled}, dtype, sizes);
    return c.result("mul", {x, gate}, dtype, sizes);
  }
  return c.result("gelu", {x}, dtype, sizes, {{"approximate", op == "FastGelu" ? "tanh" : "none"}});
}

Status fused_matmul(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) < 2 || c.rank(1) < 2) return c.error("wants two matrices");
  const DraftId a = c.attr("transA", 0) ? transposed(c, c.id(0)) : c.id(0);
  const DraftId b = c.attr("transB", 0) ? transposed(c, c.id(1)) : c.id(1);
  UL_TRY(DraftId y, product(c, a, b));
  const Sizes sizes = c.value(y).sizes;
  if (const double alpha = c.real("alpha", 1); alpha != 1)
    y = c.step("mul", {y}, c.dtype(0), sizes, {{"other", alpha}});
  c.set(0, y);
  return {};
}

// The activation that a fused operator names, or x itself.
DraftId activated(Call& c, DraftId x) {
  const std::string_view name = c.text("activation");
  const DType dtype = c.value(x).dtype;
  const Sizes sizes = c.value(x).sizes;
  if (name == "Relu") return c.step("relu", {x}, dtype, sizes);
  if (name == "Sigmoid") return c.step("sigmoid", {x}, dtype, sizes);
  if (name == "Tanh") return c.step("tanh", {x}, dtype, sizes);
  if (name == "LeakyRelu") return c.step("leaky_relu", {x}, dtype, sizes);
  if (name == "HardSigmoid") return c.step("hardsigmoid", {x}, dtype, sizes);
  if (name == "Clip") return c.step("clamp", {x}, dtype, sizes);
  return x;
}

Status fused_conv(Call& c) {  // x, w, bias, residual
  if (!c.has(0) || !c.has(1)) return c.error("input or weight is missing");
  UL_TRY(const Window window, window_of(c, c.sizes(0), kernel_of(c.sizes(1))));
  UL_TRY(const Sizes y, convolved(c, c.sizes(0), c.sizes(1), window));
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  const DType dtype = c.dtype(0);
  const DraftId x = padded(c, c.id(0), window);
  DraftId out = c.step("convolution", {x, c.id(1), c.id(2)}, dtype, y,
                       convolution_attrs(c, window, false, std::vector<int64_t>(window.kernel.size(), 0)));
  if (c.has(3)) out = c.step("add", {out, c.id(3)}, dtype, y);
  c.set(0, activated(c, out));
  return {};
}

Status fused_gemm(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) != 2 || c.rank(1) != 2) return c.error("wants two matrices");
  const DraftId a = c.attr("transA", 0) ? transposed(c, c.id(0)) : c.id(0);
  const DType dtype = c.dtype(0);
  const DraftId b = c.attr("transB", 0) ? transposed(c, c.id(1)) : c.id(1);
  UL_TRY(DraftId y, product(c, a, b));
  const Sizes sizes = c.value(y).sizes;
  if (c.has(2)) y = c.step("add", {y, c.id(2)}, dtype, sizes);
  c.set(0, activated(c, y));
  return {};
}

Status rotary(Call& c) {  // x, position_ids, cos, sin
  if (!c.has(0) || !c.has(2) || !c.has(3)) return c.error("an input is missing");
  Sizes table = c.sizes(0);
  if (c.rank(0) == 4) table[1] = 1;
  const DType dtype = c.dtype(0);
  const auto looked_up = [&](size_t i) {
    Sizes half = table;
    half[-1] = floor_div(table[-1], Size(2));
    const DraftId rows = c.has(1) ? c.step("index", {c.id(i), c.id(1)}, dtype, half) : c.id(i);
    return c.step("cat", {rows, rows}, dtype, table, {{"dim", int64_t{table.rank() - 1}}});
  };
  const DraftId cosines = looked_up(2);
  const DraftId sines = looked_up(3);
  c.set(0, rotate(c, c.id(0), cosines, sines));
  return {};
}

Status bias_softmax(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  const DType dtype = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  const DraftId sum = c.step("add", {c.id(0), c.id(1)}, dtype, sizes);
  return c.result("softmax", {sum}, dtype, sizes, {{"dim", c.attr("axis", -1)}});
}

Status group_norm(Call& c) {  // channels last: x, gamma, beta
  if (!c.has(0)) return c.error("the input is missing");
  c.use(c.id(1), Use::weight);
  c.use(c.id(2), Use::weight);
  const DType dtype = c.dtype(0);
  const Sizes sizes = c.sizes(0);
  DraftId y = c.step("group_norm", {c.id(0), c.id(1), c.id(2)}, dtype, sizes,
                     {{"num_groups", c.attr("groups", 1)}, {"eps", c.real("epsilon", 1e-5)}});
  if (c.attr("activation", 0)) y = c.step("silu", {y}, dtype, sizes);
  c.set(0, y);
  return {};
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr OpRule kRules[] = {
    {kDomain, "Attention", 1, attention},
    {kDomain, "BiasGelu", 1, gelu},
    {kDomain, "BiasSoftmax", 1, bias_softmax},
    {kDomain, "EmbedLayerNormalization", 1, embed_norm},
    {kDomain, "FastGelu", 1, gelu},
    {kDomain, "FusedConv", 1, fused_conv},
    {kDomain, "FusedGemm", 1, fused_gemm},
    {kDomain, "FusedMatMul", 1, fused_matmul},
    {kDomain, "Gelu", 1, gelu},
    {kDomain, "GroupNorm", 1, group_norm},
    {kDomain, "GroupQueryAttention", 1, group_query_attention},
    {kDomain, "MultiHeadAttention", 1, multi_head_attention},
    {kDomain, "QuickGelu", 1, gelu},
    {kDomain, "RotaryEmbedding", 1, rotary},
    {kDomain, "SkipLayerNormalization", 1, skip_norm},
    {kDomain, "SkipSimplifiedLayerNormalization", 1, skip_norm},
    {kDomain, "TransposeMatMul", 1, fused_matmul},
};

}  // namespace

std::span<const OpRule> microsoft_rules() { return kRules; }

}  // namespace ullage::onnx
