#include "ullage/importers/onnx/lower/rebatch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {
namespace {

std::string text(const Sizes& sizes, bool now) {
  std::vector<int64_t> list;
  for (const Size s : sizes) list.push_back(now ? s.now : s.was);
  return fmt::format("[{}]", fmt::join(list, ", "));
}

// Replaces the −1 in both worlds; false when the product cannot be had.
bool resolve_unknown(const Sizes& from, Sizes& target) {
  int unknown = -1;
  Size rest = 1;
  for (int d = 0; d < target.rank(); ++d) {
    if (target[d].was == -1 || target[d].now == -1) {
      if (unknown >= 0) return false;
      unknown = d;
    } else {
      rest = rest * target[d];
    }
  }
  if (unknown < 0) return true;
  const Size all = from.numel();
  target[unknown] = {rest.now == 0 ? 0 : all.now / rest.now, rest.was == 0 ? 0 : all.was / rest.was};
  return true;
}

// One run: dims [i, i2) of `from` and [j, j2) of `to` with equal products at the old sizes.
bool give_factor(const Sizes& from, int i, int i2, Sizes& to, int j, int j2) {
  const Size in = from.numel(i, i2);
  for (int d = j; d < j2; ++d) to[d].now = to[d].was;
  if (!in.moved()) return true;
  if (j == j2) return false;
  // The target dim that stands where a grown dim of the input stood.
  Size before = 1;
  int grown = 0;
  for (int d = i; d < i2; ++d) {
    if (from[d].moved()) {
      ++grown;
      int64_t prefix = 1;
      for (int t = j; t < j2; prefix = saturating_mul(prefix, to[t].was), ++t) {
        if (prefix == before.was && to[t].was == from[d].was && !to[t].moved()) {
          to[t].now = from[d].now;
          break;
        }
      }
    }
    before = before * from[d];
  }
  if (to.numel(j, j2).now == in.now) return true;
  if (grown == 1) {
    for (int d = j; d < j2; ++d) to[d].now = to[d].was;
  }
  // Else the first dim that can take what is missing.
  const int64_t have = to.numel(j, j2).now;
  for (int t = j; t < j2; ++t) {
    const int64_t scaled = saturating_mul(to[t].now, in.now);
    if (have != 0 && scaled % have == 0) {
      to[t].now = scaled / have;
      return to.numel(j, j2).now == in.now;
    }
  }
  return false;
}

bool align(const Sizes& from, Sizes& to) {
  int i = 0;
  int j = 0;
  int last_i = 0;
  int last_j = 0;
  while (i < from.rank() && j < to.rank()) {
    last_i = i;
    last_j = j;
    int64_t a = from[i++].was;
    int64_t b = to[j++].was;
    while (a != b) {
      if (a < b) {
        if (i == from.rank()) return false;
        a = saturating_mul(a, from[i++].was);
      } else {
        if (j == to.rank()) return false;
        b = saturating_mul(b, to[j++].was);
      }
    }
    // Ones left over at the end of one side belong to the last run.
    if (j == to.rank()) i = from.rank();
    if (i == from.rank()) j = to.rank();
    if (!give_factor(from, last_i, i, to, last_j, j)) return false;
  }
  return true;
}

}  // namespace

Result<Sizes> reshaped(Call& call, const Sizes& from, std::vector<Size> target) {
  if (target.size() > kMaxRank) return call.unsupported(fmt::format("a target of {} dims", target.size()));
  const bool follows = std::ranges::any_of(target, [](Size s) { return s.moved(); });
  const bool has_unknown = std::ranges::any_of(target, [](Size s) { return s.was == -1; });
  Sizes to(target);
  if (!resolve_unknown(from, to)) return call.error("the target has more than one -1");
  const Size want = from.numel();
  const bool fits = to.numel() == want;
  if (fits && (!from.moved() || follows || !has_unknown)) return to;
  if (!from.moved()) {
    if (to.numel().now == want.now) return to;
    return call.unsupported(fmt::format("a tensor of sizes {} does not fit {}", text(from, true), text(to, true)),
                            "the file may have been exported at other sizes; export it with dynamic dimensions");
  }
  if (to.numel().was != want.was) {
    return call.error(fmt::format("a tensor of sizes {} does not fit {}", text(from, false), text(to, false)));
  }
  if (want.was == 0) return to;
  Sizes aligned = to;
  for (int d = 0; d < aligned.rank(); ++d) aligned[d].now = aligned[d].was;
  if (!align(from, aligned) || aligned.numel().now != want.now) {
    return call.unsupported(fmt::format("its target {} froze the sizes of the export, and {} cannot be made to fit it",
                                        text(to, false), text(from, true)),
                            "export the model with a dynamic batch, or ask for the batch it was exported with");
  }
  if (!(aligned == to)) call.rebatched("target of Reshape");
  return aligned;
}

Result<Sizes> expanded(Call& call, const Sizes& from, std::vector<Size> target) {
  if (target.size() > kMaxRank) return call.unsupported(fmt::format("a target of {} dims", target.size()));
  Sizes to(target);
  const bool follows = to.moved();
  while (to.rank() < from.rank()) to.insert(0, 1);
  const int shift = to.rank() - from.rank();
  for (int d = 0; d < to.rank(); ++d) {
    const Size in = d < shift ? Size(1) : from[d - shift];
    if (to[d] == Size(-1)) to[d] = in;  // not ONNX, but written
    if (to[d] == Size(1)) {
      to[d] = in;
    } else if (in.moved() && !to[d].moved() && to[d].was == in.was) {
      to[d] = in;
      call.rebatched("size of Expand");
    } else if (in.now != 1 && in.now != to[d].now) {
      return call.unsupported(fmt::format("{} cannot be expanded to {}", text(from, true), text(to, true)));
    }
  }
  const auto frozen = call.lowering().frozen_batch();
  if (frozen && !follows && static_cast<int>(target.size()) == to.rank() && to.rank() >= 2 && target[0] == Size(frozen->was) &&
      !to.moved() && (shift > 0 || from[0] == Size(1))) {
    to[0] = *frozen;
    call.rebatched("size of Expand");
  }
  return to;
}

}  // namespace ullage::onnx
