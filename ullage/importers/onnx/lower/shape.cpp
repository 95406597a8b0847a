// Operators that look at the same elements in other sizes, and those that ask for sizes.

#include "ullage/importers/onnx/lower/shape.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/rebatch.h"

namespace ullage::onnx {

std::vector<int64_t> as_ints(const Sizes& sizes) {
  std::vector<int64_t> list;
  for (const Size s : sizes) list.push_back(s.now);
  return list;
}

DraftId expand_to(Call& c, DraftId x, const Sizes& sizes) {
  if (c.value(x).sizes == sizes) return x;
  return c.step("expand", {x}, c.value(x).dtype, sizes, {{"size", as_ints(sizes)}});
}

namespace {

Status shape(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const int64_t rank = c.rank(0);
  int64_t start = c.attr("start", 0);
  int64_t end = c.attr("end", rank);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  const auto all = c.sizes(0).all();
  std::vector<Size> list(all.begin() + start, all.begin() + end);
  c.set(0, c.host(DType::i64, Sizes{Size(end - start)}, content_of(std::move(list))));
  return {};
}

Status size(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  c.set(0, c.host(DType::i64, Sizes{}, content_of(std::vector<Size>{c.sizes(0).numel()})));
  return {};
}

Status reshape(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const Sizes from = c.sizes(0);
  std::vector<Size> target;
  if (c.opset() < 5) {
    const auto list = c.ints("shape");
    target.assign(list.begin(), list.end());
  } else if (c.has(1) && !c.content(1) && c.declared(0)) {
    const auto made = *c.declared(0);
    target.assign(made.sizes.begin(), made.sizes.end());
    c.note("data_dependent_shape");
  } else {
    UL_TRY(target, c.known(1, "target shape"));
  }
  if (c.attr("allowzero", 0) == 0) {
    for (size_t d = 0; d < target.size(); ++d) {
      if (target[d].was != 0) continue;
      if (static_cast<int>(d) >= from.rank())
        return c.error("a 0 in the target stands for a dim that the input does not have");
      target[d] = from[static_cast<int>(d)];
    }
  }
  UL_TRY(const Sizes to, reshaped(c, from, std::move(target)));
  return c.result("reshape", {c.id(0)}, c.dtype(0), to, {{"shape", as_ints(to)}});
}

Status flatten(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const Sizes& x = c.sizes(0);
  int64_t axis = c.attr("axis", 1);
  if (axis < -x.rank() || axis > x.rank())
    return c.error(fmt::format("axis {} of a tensor with {} dims", axis, x.rank()));
  if (axis < 0) axis += x.rank();
  const int at = static_cast<int>(axis);
  const Sizes y{x.numel(0, at), x.numel(at)};
  if (at == 1 && x.rank() >= 2) {
    return c.result("flatten", {c.id(0)}, c.dtype(0), y, {{"start_dim", int64_t{1}}, {"end_dim", int64_t{-1}}});
  }
  return c.result("reshape", {c.id(0)}, c.dtype(0), y, {{"shape", as_ints(y)}});
}

Status squeeze(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  Sizes y = c.sizes(0);
  UL_TRY(const auto given, c.ints_or_input("axes", 1));
  std::vector<int64_t> dims;
  if (given) {
    UL_TRY(dims, c.axes(*given, y.rank()));
    for (const int64_t d : dims) {
      const Size s = y[static_cast<int>(d)];
      if (s.was == 1 && s.now != 1) {
        return c.unsupported(
            fmt::format("drops dim {}, which is the batch: the model was exported for a batch of 1", d),
            "ask for --batch 1");
      }
      if (s.now != 1) return c.error(fmt::format("drops dim {}, which has size {}", d, s.now));
    }
  } else {
    for (int d = 0; d < y.rank(); ++d) {
      if (y[d] == Size(1)) dims.push_back(d);
    }
  }
  for (size_t i = dims.size(); i-- > 0;) y.erase(static_cast<int>(dims[i]));
  if (dims.size() == 1) return c.result("squeeze", {c.id(0)}, c.dtype(0), y, {{"dim", dims[0]}});
  return c.result("squeeze", {c.id(0)}, c.dtype(0), y, {{"dim", dims}});
}

Status unsqueeze(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  UL_TRY(const auto given, c.ints_or_input("axes", 1));
  if (!given) return c.error("axes are missing");
  if (given->size() + static_cast<size_t>(c.rank(0)) > kMaxRank) return c.unsupported("a result of too many dims");
  const int rank = c.rank(0) + static_cast<int>(given->size());
  UL_TRY(const std::vector<int64_t> dims, c.axes(*given, rank));
  if (dims.size() != given->size()) return c.error("an axis is named twice");
  DraftId y = c.id(0);
  const DType dtype = c.dtype(0);
  for (const int64_t d : dims) {
    Sizes sizes = c.value(y).sizes;
    sizes.insert(static_cast<int>(d), 1);
    y = c.step("unsqueeze", {y}, dtype, sizes, {{"dim", d}});
  }
  c.set(0, y);
  return {};
}

Status transpose(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const Sizes& x = c.sizes(0);
  std::vector<int64_t> perm = c.ints("perm");
  if (perm.empty()) {
    for (int d = x.rank(); d-- > 0;) perm.push_back(d);
  }
  std::vector<int64_t> sorted = perm;
  std::ranges::sort(sorted);
  std::vector<int64_t> all(static_cast<size_t>(x.rank()));
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return c.error(fmt::format("perm is not a permutation of the input's {} dims", x.rank()));
  Sizes y;
  std::vector<int64_t> moved;
  for (size_t d = 0; d < perm.size(); ++d) {
    y.push(x[static_cast<int>(perm[d])]);
    if (perm[d] != static_cast<int64_t>(d)) moved.push_back(static_cast<int64_t>(d));
  }
  if (moved.size() == 2 && c.aten() != "aten.permute.default") {
    return c.result("transpose", {c.id(0)}, c.dtype(0), y, {{"dim0", moved[0]}, {"dim1", moved[1]}});
  }
  return c.result("permute", {c.id(0)}, c.dtype(0), y, {{"dims", perm}});
}

Status expand(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  Sizes to;
  if (c.has(1) && !c.content(1) && c.declared(0)) {
    to = c.declared(0)->sizes;
    c.note("data_dependent_shape");
  } else {
    UL_TRY(std::vector<Size> target, c.known(1, "target shape"));
    UL_TRY(to, expanded(c, c.sizes(0), std::move(target)));
  }
  if (c.number(0)) return c.result("full", {}, c.dtype(0), to);  // torch.full as the exporter writes it
  return c.result("expand", {c.id(0)}, c.dtype(0), to, {{"size", as_ints(to)}});
}

Status tile(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  UL_TRY(const std::vector<Size> repeats, c.known(1, "repeats"));
  Sizes y = c.sizes(0);
  if (static_cast<int>(repeats.size()) != y.rank()) return c.error("repeats do not fit the input's rank");
  std::vector<int64_t> list;
  for (int d = 0; d < y.rank(); ++d) {
    y[d] = y[d] * repeats[static_cast<size_t>(d)];
    list.push_back(repeats[static_cast<size_t>(d)].now);
  }
  return c.result("repeat", {c.id(0)}, c.dtype(0), y, {{"repeats", list}});
}

Status depth_to_space(Call& c) {
  if (!c.has(0) || c.rank(0) != 4) return c.error("wants a 4-D input");
  const int64_t block = c.attr("blocksize", 1);
  const Sizes& x = c.sizes(0);
  if (block < 1 || block > (1 << 15) || x[1].now % (block * block) != 0)
    return c.error("the channels do not divide by the block");
  const Size b = block;
  return c.result("pixel_shuffle", {c.id(0)}, c.dtype(0), Sizes{x[0], floor_div(x[1], b * b), x[2] * b, x[3] * b},
                  {{"upscale_factor", block}});
}

Status space_to_depth(Call& c) {
  if (!c.has(0) || c.rank(0) != 4) return c.error("wants a 4-D input");
  const int64_t block = c.attr("blocksize", 1);
  const Sizes& x = c.sizes(0);
  if (block < 1 || block > (1 << 15)) return c.error("a block size below 1");
  const Size b = block;
  return c.result("pixel_unshuffle", {c.id(0)}, c.dtype(0),
                  Sizes{x[0], x[1] * b * b, floor_div(x[2], b), floor_div(x[3], b)}, {{"downscale_factor", block}});
}

constexpr OpRule kRules[] = {
    {"", "DepthToSpace", 1, depth_to_space},
    {"", "Expand", 8, expand},
    {"", "Flatten", 1, flatten},
    {"", "Reshape", 1, reshape},
    {"", "Shape", 1, shape},
    {"", "Size", 1, size},
    {"", "SpaceToDepth", 1, space_to_depth},
    {"", "Squeeze", 1, squeeze},
    {"", "Tile", 6, tile},
    {"", "Transpose", 1, transpose},
    {"", "Unsqueeze", 1, unsqueeze},
};

}  // namespace

std::span<const OpRule> shape_rules() { return kRules; }

}  // namespace ullage::onnx
