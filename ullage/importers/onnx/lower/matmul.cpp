// MatMul, Gemm, Einsum, Det.

#include "ullage/importers/onnx/lower/matmul.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {

Result<Sizes> product_sizes(const Call& c, const Sizes& a, const Sizes& b) {
  if (a.rank() < 1 || b.rank() < 1) return c.error("a product with a scalar");
  Sizes left = a;
  Sizes right = b;
  if (a.rank() == 1) left.insert(0, 1);
  if (b.rank() == 1) right.push(1);
  if (left[-1].now != right[-2].now) {
    return c.error(fmt::format("{} times {}: the inner sizes differ", a.shape().to_string(), b.shape().to_string()));
  }
  Sizes outer_a(left.all().first(static_cast<size_t>(left.rank() - 2)));
  Sizes outer_b(right.all().first(static_cast<size_t>(right.rank() - 2)));
  UL_TRY(Sizes y, c.broadcast(outer_a, outer_b));
  if (a.rank() > 1) y.push(left[-2]);
  if (b.rank() > 1) y.push(right[-1]);
  return y;
}

DraftId transposed(Call& c, DraftId x) {
  Sizes sizes = c.value(x).sizes;
  std::swap(sizes[-1], sizes[-2]);
  const int64_t rank = sizes.rank();
  return c.step("transpose", {x}, c.value(x).dtype, sizes, {{"dim0", rank - 2}, {"dim1", rank - 1}});
}

bool is_weight(const Call& c, DraftId x) {
  const DraftValue& value = c.value(x);
  return value.home == Home::stored && is_floating(value.dtype) && !c.number(x);
}

namespace {

// The stored matrix that `x` is the transpose of, or none.
DraftId transposed_weight(Call& c, DraftId x) {
  const DraftValue& value = c.value(x);
  if (value.home != Home::made) return {};
  const DraftNode& step = c.lowering().draft().nodes[value.producer];
  const bool flips = step.op == "transpose" || step.op == "permute";
  if (!flips || value.sizes.rank() != 2 || !is_weight(c, step.inputs[0])) return {};
  return step.inputs[0];
}

}  // namespace

Result<DraftId> product(Call& c, DraftId a, DraftId b) {
  UL_TRY(const Sizes y, product_sizes(c, c.value(a).sizes, c.value(b).sizes));
  const DType dtype = c.value(a).dtype;
  const bool may_be_linear = c.aten().empty() || c.aten().starts_with("aten.linear");
  if (may_be_linear && c.value(b).sizes.rank() == 2 && c.value(a).sizes.rank() >= 1) {
    DraftId weight = transposed_weight(c, b);
    if (!weight && c.value(b).home == Home::stored && is_weight(c, b)) weight = c.flipped(b);
    if (weight) {
      c.use(weight, Use::weight);
      return c.step("linear", {a, weight}, dtype, y);
    }
  }
  return c.step("matmul", {a, b}, dtype, y);
}

Result<Sizes> einsum_sizes(const Call& c, std::string_view equation, std::span<const DraftId> inputs) {
  std::string text;
  for (const char ch : equation) {
    if (ch != ' ') text += ch;
  }
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::array<Size, 256> label{};
  std::array<int, 256> seen{};
  Sizes ellipsis;
  size_t at = 0;
  for (const DraftId input : inputs) {
    const size_t end = std::min(left.find(',', at), left.size());
    if (at > left.size()) return c.error("the equation has fewer terms than there are inputs");
    const std::string term = left.substr(at, end - at);
    at = end + 1;
    const Sizes& sizes = c.value(input).sizes;
    const bool has_dots = term.find("...") != std::string::npos;
    const int named = static_cast<int>(term.size()) - (has_dots ? 3 : 0);
    if (named > sizes.rank() || (!has_dots && named != sizes.rank()))
      return c.error(fmt::format("term {} does not fit its input", term));
    int d = 0;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') {
        Sizes dots;
        for (int k = 0; k < sizes.rank() - named; ++k) dots.push(sizes[d++]);
        UL_TRY(ellipsis, c.broadcast(ellipsis, dots));
        i += 2;
        continue;
      }
      const auto ch = static_cast<unsigned char>(term[i]);
      if (++seen[ch] == 1 || label[ch].now == 1) label[ch] = sizes[d];
      ++d;
    }
  }
  Sizes y;
  if (arrow == std::string::npos) {  // implicit: labels that occur once, in alphabetical order
    y = ellipsis;
    for (int ch = 0; ch < 256; ++ch) {
      if (std::isalpha(ch) && seen[static_cast<size_t>(ch)] == 1) y.push(label[static_cast<size_t>(ch)]);
    }
    return y;
  }
  const std::string right = text.substr(arrow + 2);
  if (right.size() > kMaxRank) return c.error("a result of too many dims");
  for (size_t i = 0; i < right.size(); ++i) {
    if (right[i] == '.') {
      for (const Size s : ellipsis) y.push(s);
      i += 2;
    } else {
      y.push(label[static_cast<unsigned char>(right[i])]);
    }
  }
  return y;
}

namespace {

Status matmul(Call& c) {
  if (!c.has(0) || !c.has(1)) return c.error("an input is missing");
  UL_TRY(const DraftId y, product(c, c.id(0), c.id(1)));
  c.set(0, y);
  return {};
}

Status gemm(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) != 2 || c.rank(1) != 2) return c.error("wants two matrices");
  const bool flip_a = c.attr("transA", 0) != 0;
  const bool flip_b = c.attr("transB", 0) != 0;
  const double alpha = c.real("alpha", 1);
  const double beta = c.real("beta", 1);
  const Sizes a = c.sizes(0);
  const Sizes b = c.sizes(1);
  const Size inner_a = a[flip_a ? 0 : 1];
  const Size inner_b = b[flip_b ? 1 : 0];
  if (inner_a.now != inner_b.now)
    return c.error(fmt::format("the inner sizes {} and {} differ", inner_a.now, inner_b.now));
  const Sizes y{a[flip_a ? 1 : 0], b[flip_b ? 0 : 1]};
  const DType dtype = c.dtype(0);
  const bool has_bias = c.has(2) && beta != 0;
  const bool row_bias = !has_bias || c.rank(2) == 1;
  const bool asks_linear = c.aten().empty() || c.aten().starts_with("aten.linear");
  if (asks_linear && !flip_a && alpha == 1 && beta == 1 && row_bias && is_weight(c, c.id(1))) {
    const DraftId weight = flip_b ? c.id(1) : c.flipped(c.id(1));
    c.use(weight, Use::weight);
    std::vector<DraftId> inputs{c.id(0), weight};
    if (has_bias) {
      c.use(c.id(2), Use::weight);
      inputs.push_back(c.id(2));
    }
    return c.result("linear", std::move(inputs), dtype, y);
  }
  const DraftId left = flip_a ? transposed(c, c.id(0)) : c.id(0);
  if (is_weight(c, c.id(1))) c.use(c.id(1), Use::weight);
  const DraftId right = flip_b ? transposed(c, c.id(1)) : c.id(1);
  if (!has_bias) {
    DraftId out = c.step("matmul", {left, right}, dtype, y);
    if (alpha != 1) out = c.step("mul", {out}, dtype, y, {{"other", alpha}});
    c.set(0, out);
    return {};
  }
  if (is_weight(c, c.id(2))) c.use(c.id(2), Use::weight);
  return c.result("addmm", {c.id(2), left, right}, dtype, y, {{"beta", beta}, {"alpha", alpha}});
}

Status einsum(Call& c) {
  if (!c.has(0)) return c.error("no input");
  const std::string_view equation = c.text("equation");
  UL_TRY(const Sizes y, einsum_sizes(c, equation, c.inputs()));
  return c.result("einsum", {c.inputs().begin(), c.inputs().end()}, c.dtype(0), y,
                  {{"equation", std::string(equation)}});
}

Status det(Call& c) {
  if (!c.has(0) || c.rank(0) < 2) return c.error("wants matrices");
  const Sizes& x = c.sizes(0);
  c.note("unknown_op");
  return c.result("det", {c.id(0)}, c.dtype(0), Sizes(x.all().first(static_cast<size_t>(x.rank() - 2))));
}

constexpr OpRule kRules[] = {
    {"", "Det", 11, det}, {"", "Einsum", 12, einsum}, {"", "Gemm", 1, gemm}, {"", "MatMul", 1, matmul}};

}  // namespace

std::span<const OpRule> matmul_rules() { return kRules; }

}  // namespace ullage::onnx
