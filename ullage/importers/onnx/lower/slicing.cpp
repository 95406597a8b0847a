// Operators that take parts or put parts together: Slice, Split, Concat, Pad, Trilu, CenterCropPad, ReverseSequence.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

// Where a slice of `size` elements starts and ends and how many it has, as NumPy does.
struct Range {
  int64_t start, end, count;
};
Range range_of(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (start < 0) start = saturating_add(start, size);
  if (end < 0 && end > std::numeric_limits<int32_t>::min()) end = saturating_add(end, size);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, 0, size);
    return {start, end, std::max<int64_t>(0, ceil_div(Size(end - start), Size(step)).now)};
  }
  start = std::clamp<int64_t>(start, -1, size - 1);
  end = std::clamp<int64_t>(end, -1, size - 1);
  return {start, end, std::max<int64_t>(0, ceil_div(Size(start - end), Size(saturating_mul(step, -1))).now)};
}

Status slice(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const int rank = c.rank(0);
  std::vector<Size> starts;
  std::vector<Size> ends;
  std::vector<Size> axes;
  std::vector<Size> steps;
  if (c.opset() < 10) {
    const auto s = c.ints("starts");
    const auto e = c.ints("ends");
    const auto a = c.ints("axes");
    starts.assign(s.begin(), s.end());
    ends.assign(e.begin(), e.end());
    axes.assign(a.begin(), a.end());
  } else {
    const bool unknown = !c.content(1) || !c.content(2);
    if (unknown) {  // values decide: at most everything is taken
      c.note("data_dependent_shape");
      const auto made = c.declared(0);
      return c.result("slice", {c.id(0)}, c.dtype(0), made ? made->sizes : c.sizes(0), {{"dim", int64_t{0}}});
    }
    UL_TRY(starts, c.known(1, "starts"));
    UL_TRY(ends, c.known(2, "ends"));
    if (c.has(3)) {
      UL_TRY(axes, c.known(3, "axes"));
    }
    if (c.has(4)) {
      UL_TRY(steps, c.known(4, "steps"));
    }
  }
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.emplace_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return c.error("starts, ends, axes and steps have different lengths");
  }
  DraftId y = c.id(0);
  const DType dtype = c.dtype(0);
  for (size_t i = 0; i < starts.size(); ++i) {
    UL_TRY(const int axis, c.axis(axes[i].now, rank));
    const int64_t step = steps[i].now;
    if (step == 0) return c.error("a step of 0");
    Sizes sizes = c.value(y).sizes;
    const Size old = sizes[axis];
    Size end = ends[i];
    if (old.moved() && !end.moved() && end.was == old.was && starts[i] == Size(0) && step == 1) {
      end = old;  // "up to the batch" of the export
      c.rebatched("end of Slice");
    }
    const Range now = range_of(old.now, starts[i].now, end.now, step);
    const Range was = range_of(old.was, starts[i].was, end.was, step);
    sizes[axis] = {now.count, was.count};
    // x[:, a:b] skips the dims that it takes whole, so eager has no op for them (only tracing writes them out).
    if (step == 1 && now.start == 0 && now.count == old.now && c.aten() != "aten.narrow.default") continue;
    if (step < 0) {
      if (step != -1 || now.count != old.now)
        c.note("data_dependent_shape", "a slice with a negative step that is not a flip");
      y = c.step("flip", {y}, dtype, sizes, {{"dims", std::vector<int64_t>{axis}}});
    } else {
      y = c.step("slice", {y}, dtype, sizes,
                 {{"dim", int64_t{axis}}, {"start", now.start}, {"end", now.end}, {"step", step}});
    }
  }
  c.set(0, y);
  return {};
}

Status split(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), c.rank(0)));
  const Sizes& x = c.sizes(0);
  const int64_t parts = c.attr("num_outputs", static_cast<int64_t>(c.output_count()));
  if (parts < 1 || parts > (1 << 20)) return c.error("a number of parts that cannot be");
  UL_TRY(const auto given, c.ints_or_input("split", 1));
  std::vector<Size> sizes;
  if (given) {
    sizes = *given;
  } else {
    const Size each = ceil_div(x[axis], Size(parts));
    for (int64_t i = 0; i < parts; ++i) {
      const Size before = each * Size(i);
      sizes.push_back({std::clamp<int64_t>(x[axis].now - before.now, 0, each.now),
                       std::clamp<int64_t>(x[axis].was - before.was, 0, each.was)});
    }
  }
  if (sizes.size() < c.output_count()) return c.error("there are more outputs than parts");
  Size sum = 0;
  for (const Size s : sizes) sum = sum + s;
  if (sum.now != x[axis].now) {
    if (x[axis].moved() && sum.was == x[axis].was) {
      return c.unsupported("splits the batch into parts fixed at export", "ask for the batch it was exported with");
    }
    return c.error(fmt::format("the parts add up to {}, the dim has {}", sum.now, x[axis].now));
  }
  std::vector<Made> made;
  std::vector<int64_t> list;
  for (const Size s : sizes) {
    Sizes part = x;
    part[axis] = s;
    made.push_back({c.dtype(0), part});
    list.push_back(s.now);
  }
  const bool equal = std::ranges::all_of(list, [&](int64_t s) { return s == list[0]; });
  const bool chunk = c.aten().starts_with("aten.chunk") || (!given && c.aten().empty());
  std::vector<Attr> attrs;
  if (chunk) {
    attrs = {{"chunks", static_cast<int64_t>(list.size())}, {"dim", int64_t{axis}}};
  } else if (equal) {
    attrs = {{"split_size", list[0]}, {"dim", int64_t{axis}}};
  } else {
    attrs = {{"split_size", list}, {"dim", int64_t{axis}}};
  }
  const auto y = c.steps(chunk ? "chunk" : "split", {c.id(0)}, made, std::move(attrs));
  for (size_t k = 0; k < c.output_count() && k < y.size(); ++k) c.set(k, y[k]);
  return {};
}

Status concat(Call& c) {
  if (!c.has(0)) return c.error("no input");
  UL_TRY(const int axis, c.axis(c.attr("axis", 1), c.rank(0)));
  Sizes y = c.sizes(0);
  // The operand that follows the batch says what the others have to have.
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i) || c.rank(i) != y.rank()) return c.error("the inputs have different ranks");
    for (int d = 0; d < y.rank(); ++d) {
      if (d != axis && c.sizes(i)[d].moved()) y[d] = c.sizes(i)[d];
    }
  }
  std::vector<DraftId> inputs;
  Size sum = 0;
  for (size_t i = 0; i < c.input_count(); ++i) {
    Sizes x = c.sizes(i);
    DraftId id = c.id(i);
    bool grown = false;
    for (int d = 0; d < y.rank(); ++d) {
      if (d == axis || x[d].now == y[d].now) continue;
      if (x[d].was != y[d].was) return c.error(fmt::format("the inputs differ in dim {}", d));
      if (x[d].was != 1) {
        return c.unsupported("one of its inputs was fixed to the batch of the export",
                             "ask for the batch it was exported with");
      }
      x[d] = y[d];
      grown = true;
    }
    if (grown) {  // at a batch of 1 the exporter had no need of the expand
      id = expand_to(c, id, x);
      c.rebatched("an input of Concat");
    }
    sum = sum + x[axis];
    inputs.push_back(id);
  }
  y[axis] = sum;
  return c.result("cat", std::move(inputs), c.dtype(0), y, {{"dim", int64_t{axis}}});
}

Status pad(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const int rank = c.rank(0);
  std::vector<Size> pads;
  if (c.opset() < 11) {
    auto list = c.ints("pads");
    if (list.empty()) list = c.ints("paddings");
    pads.assign(list.begin(), list.end());
  } else if (c.has(1) && !c.content(1) && c.declared(0)) {
    c.note("data_dependent_shape");
    return c.result("constant_pad_nd", {c.id(0)}, c.dtype(0), c.declared(0)->sizes);
  } else {
    UL_TRY(pads, c.known(1, "pads"));
  }
  std::vector<int64_t> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  if (c.has(3)) {
    UL_TRY(const std::vector<Size> given, c.known(3, "axes"));
    axes.clear();
    for (const Size a : given) {
      UL_TRY(const int d, c.axis(a.now, rank));
      axes.push_back(d);
    }
  }
  if (pads.size() != 2 * axes.size()) return c.error("pads do not fit the axes");
  Sizes y = c.sizes(0);
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  std::vector<int64_t> end(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    begin[d] = pads[i].now;
    end[d] = pads[axes.size() + i].now;
    Size& size = y[static_cast<int>(d)];
    size = size + pads[i] + pads[axes.size() + i];
    if (size.now < 0) return c.error("crops more than there is");
  }
  // F.pad: last dim first, up to the first dim that is padded.
  int first = rank;
  for (int d = rank - 1; d >= 0; --d) {
    if (begin[static_cast<size_t>(d)] != 0 || end[static_cast<size_t>(d)] != 0) first = d;
  }
  std::vector<int64_t> list;
  for (int d = rank - 1; d >= std::min(first, rank - 1); --d) {
    list.push_back(begin[static_cast<size_t>(d)]);
    list.push_back(end[static_cast<size_t>(d)]);
  }
  const std::string_view mode = c.text("mode", "constant");
  if (mode == "reflect" || mode == "edge") {
    return c.result(mode == "edge" ? "replication_pad" : "reflection_pad", {c.id(0)}, c.dtype(0), y, {{"pad", list}});
  }
  const double value = c.number(2) ? *c.number(2) : c.real("value", 0);
  return c.result("constant_pad_nd", {c.id(0)}, c.dtype(0), y, {{"pad", list}, {"value", value}});
}

Status trilu(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const int64_t diagonal = c.number(1) ? static_cast<int64_t>(*c.number(1)) : 0;
  return c.result(c.attr("upper", 1) ? "triu" : "tril", {c.id(0)}, c.dtype(0), c.sizes(0), {{"diagonal", diagonal}});
}

Status center_crop_pad(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  UL_TRY(const std::vector<Size> wanted, c.known(1, "shape"));
  Sizes y = c.sizes(0);
  std::vector<int64_t> axes = c.ints("axes");
  if (axes.empty()) {
    for (int d = 0; d < y.rank(); ++d) axes.push_back(d);
  }
  if (axes.size() != wanted.size()) return c.error("shape does not fit the axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    UL_TRY(const int d, c.axis(axes[i], y.rank()));
    y[d] = wanted[i];
  }
  return c.result("constant_pad_nd", {c.id(0)}, c.dtype(0), y);
}

Status reverse_sequence(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  return c.result("flip", {c.id(0)}, c.dtype(0), c.sizes(0), {{"dims", std::vector<int64_t>{c.attr("time_axis", 0)}}});
}

constexpr OpRule kRules[] = {
    {"", "CenterCropPad", 18, center_crop_pad},
    {"", "Concat", 1, concat},
    {"", "Pad", 1, pad},
    {"", "ReverseSequence", 10, reverse_sequence},
    {"", "Slice", 1, slice},
    {"", "Split", 1, split},
    {"", "Trilu", 14, trilu},
};

}  // namespace

std::span<const OpRule> slicing_rules() { return kRules; }

}  // namespace ullage::onnx
