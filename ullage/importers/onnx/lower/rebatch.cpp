#include "ullage/importers/onnx/lower/rebatch.h"

#include <algorithm>
#include <optional>
#include <vector>

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

// Dims [i, i2) of the input and [j, j2) of the target whose products were equal at the old batch.
struct Run {
  int i, i2, j, j2;
};

bool cut_into_runs(const Sizes& from, const Sizes& to, std::vector<Run>& runs) {
  int i = 0;
  int j = 0;
  while (i < from.rank() && j < to.rank()) {
    Run run{i, i, j, j};
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
    run.i2 = i;
    run.j2 = j;
    runs.push_back(run);
  }
  if (runs.empty()) return from.rank() == 0 && to.rank() == 0;
  runs.back().i2 = from.rank();  // ones left over at the end of one side belong to the last run
  runs.back().j2 = to.rank();
  return true;
}

// A batch of 1 stands between two runs and belongs to either; what models do decides.
void settle_ones(const Sizes& from, const Sizes& to, std::vector<Run>& runs) {
  for (size_t r = 1; r < runs.size(); ++r) {
    Run& before = runs[r - 1];
    Run& run = runs[r];
    // [S, 1, H, d] → [S, E]: the batch goes into the rows, not into the features.
    const bool into_features = run.j + 1 == to.rank() && run.j2 == to.rank();
    if (into_features && run.i2 - run.i > 1 && from[run.i].moved() && from[run.i].was == 1) {
      before.i2 = ++run.i;
    }
    // [S·1, E] → [S, 1, E]: the one is where the batch comes out again.
    const bool grown = from.numel(before.i, before.i2).moved();
    const bool has_one =
        std::ranges::any_of(to.all().subspan(static_cast<size_t>(before.j), static_cast<size_t>(before.j2 - before.j)),
                            [](Size s) { return s.was == 1; });
    if (grown && !has_one && !from.numel(run.i, run.i2).moved() && run.j2 - run.j > 1 && to[run.j].was == 1) {
      before.j2 = ++run.j;
    }
  }
}

// Lets the target dims of a run follow the input's.
bool give_factor(const Sizes& from, const Run& run, Sizes& to, std::optional<Size> batch) {
  const Size in = from.numel(run.i, run.i2);
  if (!in.moved()) return true;
  if (run.j == run.j2) return false;
  const auto fits = [&] { return to.numel(run.j, run.j2).now == in.now; };
  const auto back = [&] {
    for (int t = run.j; t < run.j2; ++t) to[t].now = to[t].was;
  };
  // The target dim that stands where a grown dim of the input stood (`pure`: only where that dim is the batch itself).
  const auto follow = [&](bool pure) {
    Size before = 1;
    for (int d = run.i; d < run.i2; ++d) {
      int64_t prefix = 1;
      const bool counts = from[d].moved() && (!pure || (batch && from[d] == *batch));
      for (int t = run.j; counts && t < run.j2; prefix = saturating_mul(prefix, to[t++].was)) {
        if (prefix == before.was && to[t].was == from[d].was && !to[t].moved()) {
          to[t].now = from[d].now;
          break;
        }
      }
      before = before * from[d];
    }
    return fits();
  };
  if (follow(true)) return true;
  back();
  for (int t = run.j; batch && t < run.j2; ++t) {  // a dim as large as the old batch
    if (to[t].was != batch->was) continue;
    to[t].now = batch->now;
    if (fits()) return true;
    to[t].now = to[t].was;
  }
  if (follow(false)) return true;
  back();
  // The first dim that can take what is missing.
  const int64_t have = to.numel(run.j, run.j2).now;
  for (int t = run.j; have != 0 && t < run.j2; ++t) {
    const int64_t scaled = saturating_mul(to[t].now, in.now);
    if (scaled % have == 0) {
      to[t].now = scaled / have;
      return fits();
    }
  }
  return false;
}

bool align(const Sizes& from, Sizes& to, std::optional<Size> batch) {
  std::vector<Run> runs;
  if (!cut_into_runs(from, to, runs)) return false;
  settle_ones(from, to, runs);
  return std::ranges::all_of(runs, [&](const Run& run) { return give_factor(from, run, to, batch); });
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
  if (!align(from, aligned, call.lowering().frozen_batch()) || aligned.numel().now != want.now) {
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
    } else if (in.now != 1 && in.now != to[d].now && in.was == to[d].was) {
      call.rebatched("input of Expand");  // zeros made at the batch of the export
    } else if (in.now != 1 && in.now != to[d].now) {
      return call.unsupported(fmt::format("{} cannot be expanded to {}", text(from, true), text(to, true)));
    }
  }
  const auto frozen = call.lowering().frozen_batch();
  if (frozen && !follows && static_cast<int>(target.size()) == to.rank() && to.rank() >= 2 &&
      target[0] == Size(frozen->was) && !to.moved() && (shift > 0 || from[0] == Size(1))) {
    to[0] = *frozen;
    call.rebatched("size of Expand");
  }
  return to;
}

}  // namespace ullage::onnx
