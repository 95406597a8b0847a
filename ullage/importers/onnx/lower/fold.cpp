#include "ullage/importers/onnx/lower/fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace ullage::onnx {
namespace {

// The element of `from` that broadcasting puts at row-major place `at` of a tensor of `to`.
size_t broadcast_index(const Sizes& from, const Sizes& to, size_t at) {
  size_t index = 0;
  size_t step = 1;
  for (int d = from.rank() - 1, t = to.rank() - 1; t >= 0 && d >= 0; --t, --d) {
    const size_t place = at % static_cast<size_t>(to[t].now);
    at /= static_cast<size_t>(to[t].now);
    if (from[d].now != 1) index += place * step;
    step *= static_cast<size_t>(from[d].now);
  }
  return index;
}

std::vector<size_t> strides_of(const Sizes& sizes) {
  std::vector<size_t> strides(static_cast<size_t>(sizes.rank()), 1);
  for (int d = sizes.rank() - 2; d >= 0; --d) {
    strides[static_cast<size_t>(d)] = strides[static_cast<size_t>(d) + 1] * static_cast<size_t>(sizes[d + 1].now);
  }
  return strides;
}

// The elements of the result are elements of the operand: element i is operand element `pick(i)`.
template <class Pick>
ContentPtr picked(const Content& from, size_t count, Pick pick) {
  Content out{.is_real = from.is_real, .ints = {}, .reals = {}};
  for (size_t i = 0; i < count; ++i) {
    const size_t at = pick(i);
    if (at >= from.count()) return nullptr;
    if (from.is_real) {
      out.reals.push_back(from.reals[at]);
    } else {
      out.ints.push_back(from.ints[at]);
    }
  }
  return std::make_shared<const Content>(std::move(out));
}

struct Binary {
  std::string_view op;
  int64_t (*on_ints)(int64_t, int64_t);
  double (*on_reals)(double, double);
};

constexpr Binary kBinary[] = {
    {"Add", [](int64_t a, int64_t b) { return saturating_add(a, b); }, [](double a, double b) { return a + b; }},
    {"Sub", [](int64_t a, int64_t b) { return saturating_add(a, saturating_mul(b, -1)); },
     [](double a, double b) { return a - b; }},
    {"Mul", [](int64_t a, int64_t b) { return saturating_mul(a, b); }, [](double a, double b) { return a * b; }},
    {"Div", [](int64_t a, int64_t b) { return b == 0 || b == -1 ? saturating_mul(a, b) : a / b; },
     [](double a, double b) { return a / b; }},
    {"Mod", [](int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a - floor_div(a, b) * b; },
     [](double a, double b) { return std::fmod(a, b); }},
    {"Pow",
     [](int64_t a, int64_t b) {
       return static_cast<int64_t>(std::clamp(std::pow(static_cast<double>(a), static_cast<double>(b)), -9e18, 9e18));
     },
     [](double a, double b) { return std::pow(a, b); }},
    {"Min", [](int64_t a, int64_t b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); }},
    {"Max", [](int64_t a, int64_t b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); }},
    {"And", [](int64_t a, int64_t b) { return int64_t{a && b}; }, nullptr},
    {"Or", [](int64_t a, int64_t b) { return int64_t{a || b}; }, nullptr},
    {"Xor", [](int64_t a, int64_t b) { return int64_t{(a != 0) != (b != 0)}; }, nullptr},
    {"Equal", [](int64_t a, int64_t b) { return int64_t{a == b}; },
     [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"Less", [](int64_t a, int64_t b) { return int64_t{a < b}; }, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"LessOrEqual", [](int64_t a, int64_t b) { return int64_t{a <= b}; },
     [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"Greater", [](int64_t a, int64_t b) { return int64_t{a > b}; },
     [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"GreaterOrEqual", [](int64_t a, int64_t b) { return int64_t{a >= b}; },
     [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
};

ContentPtr fold_binary(const Call& c, const Binary& rule, DType dtype, const Sizes& sizes) {
  const Content& a = *c.content(0);
  const Content& b = *c.content(1);
  const auto count = static_cast<size_t>(sizes.numel().now);
  const bool reals = a.is_real || b.is_real;
  if (reals && !rule.on_reals) return nullptr;
  Content out{.is_real = reals && is_floating(dtype), .ints = {}, .reals = {}};
  for (size_t i = 0; i < count; ++i) {
    const size_t x = broadcast_index(c.sizes(0), sizes, i);
    const size_t y = broadcast_index(c.sizes(1), sizes, i);
    if (x >= a.count() || y >= b.count()) return nullptr;
    if (!reals) {
      out.ints.emplace_back(rule.on_ints(a.ints[x].now, b.ints[y].now), rule.on_ints(a.ints[x].was, b.ints[y].was));
      continue;
    }
    const double value = rule.on_reals(a.real(x), b.real(y));
    if (out.is_real) {
      out.reals.push_back(value);
    } else {
      out.ints.emplace_back(static_cast<int64_t>(value));
    }
  }
  return std::make_shared<const Content>(std::move(out));
}

struct Unary {
  std::string_view op;
  int64_t (*on_int)(int64_t);
  double (*on_real)(double);
};

constexpr Unary kUnary[] = {
    {"Neg", [](int64_t a) { return saturating_mul(a, -1); }, [](double a) { return -a; }},
    {"Abs", [](int64_t a) { return a < 0 ? saturating_mul(a, -1) : a; }, [](double a) { return std::abs(a); }},
    {"Not", [](int64_t a) { return int64_t{a == 0}; }, nullptr},
    {"Sign", [](int64_t a) { return int64_t{a > 0} - int64_t{a < 0}; },
     [](double a) { return a > 0   ? 1.0
                           : a < 0 ? -1.0
                                   : 0.0; }},
    {"Floor", [](int64_t a) { return a; }, [](double a) { return std::floor(a); }},
    {"Ceil", [](int64_t a) { return a; }, [](double a) { return std::ceil(a); }},
    {"Round", [](int64_t a) { return a; }, [](double a) { return std::nearbyint(a); }},
    {"Sqrt", nullptr, [](double a) { return std::sqrt(a); }},
    {"Exp", nullptr, [](double a) { return std::exp(a); }},
    {"Log", nullptr, [](double a) { return std::log(a); }},
    {"Reciprocal", nullptr, [](double a) { return 1 / a; }},
};

ContentPtr fold_unary(const Content& a, const Unary& rule) {
  Content out{.is_real = a.is_real, .ints = {}, .reals = {}};
  if (a.is_real ? !rule.on_real : !rule.on_int) return nullptr;
  for (const double x : a.reals) out.reals.push_back(rule.on_real(x));
  for (const Size x : a.ints) out.ints.emplace_back(rule.on_int(x.now), rule.on_int(x.was));
  return std::make_shared<const Content>(std::move(out));
}

ContentPtr fold_cast(const Content& a, DType dtype) {
  if (a.is_real == is_floating(dtype)) return std::make_shared<const Content>(a);
  if (is_floating(dtype)) {
    std::vector<double> reals;
    for (const Size x : a.ints) {
      if (x.moved()) return nullptr;  // reals are kept once only; an own cast back would lose the old size
      reals.push_back(static_cast<double>(x.now));
    }
    return content_of(std::move(reals));
  }
  std::vector<Size> ints;
  for (size_t i = 0; i < a.count(); ++i) ints.push_back(dtype == DType::boolean ? Size(a.real(i) != 0) : a.integer(i));
  return content_of(std::move(ints));
}

ContentPtr fold_gather(const Call& c, const Sizes& sizes) {
  const auto axis = c.axis(c.attr("axis", 0), c.rank(0));
  if (!axis) return nullptr;
  const Sizes& from = c.sizes(0);
  const Content& index = *c.content(1);
  const auto inner = static_cast<size_t>(from.numel(*axis + 1).now);
  const auto along = from[*axis].now;
  const size_t count = index.count();
  if (count == 0 || inner == 0) return nullptr;
  return picked(*c.content(0), static_cast<size_t>(sizes.numel().now), [&](size_t i) -> size_t {
    int64_t at = index.integer((i / inner) % count).now;
    if (at < 0) at += along;
    if (at < 0 || at >= along) return SIZE_MAX;
    return (i / inner / count) * static_cast<size_t>(along) * inner + static_cast<size_t>(at) * inner + i % inner;
  });
}

ContentPtr fold_concat(const Call& c, const Sizes& sizes) {
  const auto axis = c.axis(c.attr("axis", 0), sizes.rank());
  if (!axis) return nullptr;
  Content out{.is_real = c.content(0)->is_real, .ints = {}, .reals = {}};
  const auto outer = static_cast<size_t>(sizes.numel(0, *axis).now);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < c.input_count(); ++i) {
      const Content& part = *c.content(i);
      if (part.is_real != out.is_real) return nullptr;
      const size_t run = part.count() / outer;
      for (size_t k = 0; k < run; ++k) {
        if (out.is_real) {
          out.reals.push_back(part.reals[o * run + k]);
        } else {
          out.ints.push_back(part.ints[o * run + k]);
        }
      }
    }
  }
  return std::make_shared<const Content>(std::move(out));
}

ContentPtr fold_slice(const Call& c, const Sizes& sizes) {  // of one dim, which shapes are
  if (c.rank(0) != 1) return nullptr;
  int64_t start = 0;
  int64_t step = 1;
  if (c.opset() < 10) {
    const auto starts = c.ints("starts");
    if (starts.size() != 1) return nullptr;
    start = starts[0];
  } else {
    if (!c.content(1) || c.content(1)->count() != 1) return nullptr;
    start = c.content(1)->integer(0).now;
    if (c.content(4) && c.content(4)->count() == 1) step = c.content(4)->integer(0).now;
  }
  const int64_t all = c.sizes(0)[0].now;
  if (start < 0) start += all;
  start = std::clamp<int64_t>(start, 0, step < 0 ? all - 1 : all);
  return picked(*c.content(0), static_cast<size_t>(sizes[0].now),
                [&](size_t i) { return static_cast<size_t>(start + static_cast<int64_t>(i) * step); });
}

ContentPtr fold_transpose(const Call& c, const Sizes& sizes) {
  std::vector<int64_t> perm = c.ints("perm");
  const int rank = c.rank(0);
  if (perm.empty()) {
    for (int d = rank; d-- > 0;) perm.push_back(d);
  }
  if (static_cast<int>(perm.size()) != rank) return nullptr;
  const auto strides = strides_of(c.sizes(0));
  return picked(*c.content(0), static_cast<size_t>(sizes.numel().now), [&](size_t i) {
    size_t index = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const auto size = static_cast<size_t>(sizes[d].now);
      index += i % size * strides[static_cast<size_t>(perm[static_cast<size_t>(d)])];
      i /= size;
    }
    return index;
  });
}

ContentPtr fold_reduce(const Call& c, const Sizes& sizes) {  // to one element
  const Content& a = *c.content(0);
  if (sizes.numel() != Size(1) || a.count() == 0) return nullptr;
  const std::string_view op = c.node().op;
  const auto both = [&](auto on_size) {
    Size out = a.ints[0];
    for (size_t i = 1; i < a.ints.size(); ++i) out = on_size(out, a.ints[i]);
    return content_of(std::vector<Size>{out});
  };
  if (a.is_real) return nullptr;
  if (op == "ReduceProd") return both([](Size x, Size y) { return x * y; });
  if (op == "ReduceSum") return both([](Size x, Size y) { return x + y; });
  if (op == "ReduceMax")
    return both([](Size x, Size y) { return Size(std::max(x.now, y.now), std::max(x.was, y.was)); });
  if (op == "ReduceMin")
    return both([](Size x, Size y) { return Size(std::min(x.now, y.now), std::min(x.was, y.was)); });
  return nullptr;
}

ContentPtr fold_where(const Call& c, const Sizes& sizes) {
  const Content& condition = *c.content(0);
  const Content& a = *c.content(1);
  const Content& b = *c.content(2);
  if (a.is_real != b.is_real) return nullptr;
  Content out{.is_real = a.is_real, .ints = {}, .reals = {}};
  for (size_t i = 0; i < static_cast<size_t>(sizes.numel().now); ++i) {
    const size_t p = broadcast_index(c.sizes(0), sizes, i);
    const size_t x = broadcast_index(c.sizes(1), sizes, i);
    const size_t y = broadcast_index(c.sizes(2), sizes, i);
    if (p >= condition.count() || x >= a.count() || y >= b.count()) return nullptr;
    if (out.is_real) {
      out.reals.push_back(condition.real(p) != 0 ? a.reals[x] : b.reals[y]);
    } else {
      const Size flag = condition.integer(p);
      out.ints.emplace_back(flag.now ? a.ints[x].now : b.ints[y].now, flag.was ? a.ints[x].was : b.ints[y].was);
    }
  }
  return std::make_shared<const Content>(std::move(out));
}

ContentPtr fold_range(const Call& c, const Sizes& sizes) {
  const Content& start = *c.content(0);
  const Content& step = *c.content(2);
  if (start.count() != 1 || step.count() != 1 || start.is_real) return nullptr;
  std::vector<Size> ints;
  for (int64_t i = 0; i < sizes.numel().now; ++i) ints.push_back(start.ints[0] + Size(i) * step.integer(0));
  return content_of(std::move(ints));
}

ContentPtr fold_nonzero(const Call& c, const Sizes& sizes) {
  const Content& a = *c.content(0);
  if (c.rank(0) > 1) return nullptr;
  std::vector<Size> places;
  for (size_t i = 0; i < a.count(); ++i) {
    if (a.real(i) != 0) places.emplace_back(static_cast<int64_t>(i));
  }
  return static_cast<int64_t>(places.size()) == sizes.numel().now ? content_of(std::move(places)) : nullptr;
}

// ScatterND and ScatterElements into a shape (one dim): `shape[i] = n`.
ContentPtr fold_scatter(const Call& c) {
  if (c.rank(0) != 1 || c.content(0)->is_real || c.content(2)->is_real ||
      c.content(1)->count() != c.content(2)->count())
    return nullptr;
  std::vector<Size> ints = c.content(0)->ints;
  for (size_t i = 0; i < c.content(1)->count(); ++i) {
    int64_t at = c.content(1)->integer(i).now;
    if (at < 0) at += static_cast<int64_t>(ints.size());
    if (at < 0 || at >= static_cast<int64_t>(ints.size())) return nullptr;
    ints[static_cast<size_t>(at)] = c.content(2)->ints[i];
  }
  return content_of(std::move(ints));
}

bool all_known(const Call& c) {
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (c.has(i) && !c.content(i)) return false;
  }
  return c.input_count() > 0;
}

}  // namespace

bool makes_tensor(std::string_view op) {
  static constexpr std::array kCreators = {"Range",         "ConstantOfShape", "Expand",           "EyeLike",
                                           "RandomNormal",  "RandomUniform",   "RandomNormalLike", "RandomUniformLike",
                                           "Bernoulli",     "Multinomial",     "BlackmanWindow",   "HannWindow",
                                           "HammingWindow", "MelWeightMatrix"};
  return std::ranges::find(kCreators, op) != kCreators.end();
}

ContentPtr fold(const Call& c, size_t k, DType dtype, const Sizes& sizes) {
  const int64_t count = sizes.numel().now;
  if (sizes.moved() || count > kMaxContent || !all_known(c)) return nullptr;
  const std::string_view op = c.node().op;
  if (!c.node().domain.empty() || dtype == DType::string || is_complex(dtype)) return nullptr;
  for (const Binary& rule : kBinary) {
    if (rule.op == op) return c.input_count() == 2 ? fold_binary(c, rule, dtype, sizes) : nullptr;
  }
  for (const Unary& rule : kUnary) {
    if (rule.op == op) return fold_unary(*c.content(0), rule);
  }
  if (op == "Cast" || op == "CastLike") return fold_cast(*c.content(0), dtype);
  if (op == "Gather") return fold_gather(c, sizes);
  if (op == "Concat") return fold_concat(c, sizes);
  if (op == "Slice") return fold_slice(c, sizes);
  if (op == "Transpose") return fold_transpose(c, sizes);
  if (op == "Squeeze" || op == "Unsqueeze" || op == "Reshape" || op == "Identity" || op == "Flatten") {
    return picked(*c.content(0), static_cast<size_t>(count), [](size_t i) { return i; });
  }
  if (op == "Expand") {
    const Sizes& from = c.sizes(0);
    return picked(*c.content(0), static_cast<size_t>(count), [&](size_t i) { return broadcast_index(from, sizes, i); });
  }
  if (op == "Tile" && c.rank(0) == 1) {
    const size_t from = c.content(0)->count();
    return picked(*c.content(0), static_cast<size_t>(count), [&](size_t i) { return from ? i % from : SIZE_MAX; });
  }
  if (op == "Split" && c.rank(0) == 1) {
    size_t before = 0;
    for (size_t i = 0; i < k; ++i) {
      // All but the last part have the size of the first, unless given; parts of unequal sizes are not worth the care
      // here.
      before += static_cast<size_t>(count);
    }
    if (c.content(0)->count() != static_cast<size_t>(count) * c.output_count()) return nullptr;
    return picked(*c.content(0), static_cast<size_t>(count), [&](size_t i) { return before + i; });
  }
  if (op.starts_with("Reduce")) return fold_reduce(c, sizes);
  if (op == "Where") return fold_where(c, sizes);
  if (op == "Range") return fold_range(c, sizes);
  if (op == "NonZero") return fold_nonzero(c, sizes);
  if (op == "ScatterND" || op == "ScatterElements") return fold_scatter(c);
  return nullptr;
}

}  // namespace ullage::onnx
