// Sequences and optionals: lists of tensors that exist only at import; a tensor in one is the tensor itself.

#include <algorithm>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {
namespace {

Status bind_sequence(Call& c, std::vector<DraftId> items) {
  const DraftId id = c.host(DType::unknown, {}, nullptr);
  c.lowering().sequence(id) = std::move(items);
  c.set(0, id);
  return {};
}

const std::vector<DraftId>* sequence_at(Call& c, size_t i) {
  return c.has(i) ? c.lowering().find_sequence(c.id(i)) : nullptr;
}

Status construct(Call& c) { return bind_sequence(c, {c.inputs().begin(), c.inputs().end()}); }
Status empty(Call& c) { return bind_sequence(c, {}); }

// Where in a list of `count` (one more for an insertion) the index in input i points; the end when it is absent or not
// known.
size_t place_in(const Call& c, size_t i, size_t count) {
  if (!c.number(i)) return count;
  auto at = static_cast<int64_t>(*c.number(i));
  if (at < 0) at += static_cast<int64_t>(count);
  return static_cast<size_t>(std::clamp<int64_t>(at, 0, static_cast<int64_t>(count)));
}

Status insert(Call& c) {
  const auto* items = sequence_at(c, 0);
  if (!items || !c.has(1)) return c.error("not a sequence");
  std::vector<DraftId> list = *items;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place_in(c, 2, list.size())), c.id(1));
  return bind_sequence(c, std::move(list));
}

Status erase(Call& c) {
  const auto* items = sequence_at(c, 0);
  if (!items || items->empty()) return c.error("erases from a sequence that is empty or none");
  std::vector<DraftId> list = *items;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(std::min(place_in(c, 1, list.size()), list.size() - 1)));
  return bind_sequence(c, std::move(list));
}

Status at(Call& c) {
  const auto* items = sequence_at(c, 0);
  if (!items || items->empty()) return c.error("reads from a sequence that is empty or none");
  c.set(0, (*items)[std::min(place_in(c, 1, items->size()), items->size() - 1)]);
  return {};
}

Status length(Call& c) {
  const auto* items = sequence_at(c, 0);
  if (!items) return c.error("not a sequence");
  c.set(0, c.host(DType::i64, {}, content_of(std::vector<Size>{static_cast<int64_t>(items->size())})));
  return {};
}

Status split(Call& c) {
  if (!c.has(0)) return c.error("the input is missing");
  const Sizes x = c.sizes(0);
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), x.rank()));
  if (x.rank() == 0) return c.error("of a scalar");
  std::vector<Size> parts;
  const Size all = x[axis];
  if (c.has(1)) {
    UL_TRY(parts, c.known(1, "split"));
    if (parts.size() == 1 && c.rank(1) == 0) {  // equal parts, the last one smaller
      const int64_t each = parts[0].now;
      if (each < 1 || all.now / each > 65536) return c.error("parts of a size that cannot be");
      parts.clear();
      for (int64_t begin = 0; begin < all.now; begin += each) parts.emplace_back(std::min(each, all.now - begin));
    }
  } else {
    if (all.now > 65536) return c.unsupported("a sequence of more than 65536 tensors");
    parts.assign(static_cast<size_t>(all.now), 1);
  }
  const bool keep = c.attr("keepdims", 1) != 0 || c.has(1);
  std::vector<Made> made;
  std::vector<int64_t> list;
  for (const Size part : parts) {
    Sizes sizes = x;
    if (keep) {
      sizes[axis] = part;
    } else {
      sizes.erase(axis);
    }
    made.push_back({c.dtype(0), sizes});
    list.push_back(part.now);
  }
  if (made.empty()) return bind_sequence(c, {});
  const auto items = keep ? c.steps("split", {c.id(0)}, made, {{"split_size", list}, {"dim", int64_t{axis}}})
                          : c.steps("unbind", {c.id(0)}, made, {{"dim", int64_t{axis}}});
  return bind_sequence(c, items);
}

Status concat(Call& c) {
  const auto* items = sequence_at(c, 0);
  if (!items || items->empty()) return c.error("joins a sequence that is empty or none");
  const std::vector<DraftId> list = *items;
  Sizes y = c.value(list[0]).sizes;
  const DType dtype = c.value(list[0]).dtype;
  if (c.attr("new_axis", 0)) {
    UL_TRY(const int axis, c.axis(c.attr("axis", 0), y.rank() + 1));
    if (y.rank() >= kMaxRank) return c.unsupported("a result of too many dims");
    y.insert(axis, static_cast<int64_t>(list.size()));
    return c.result("stack", list, dtype, y, {{"dim", int64_t{axis}}});
  }
  UL_TRY(const int axis, c.axis(c.attr("axis", 0), y.rank()));
  if (y.rank() == 0) return c.error("joins scalars");
  Size sum = 0;
  for (const DraftId id : list) {
    if (c.value(id).sizes.rank() != y.rank()) return c.error("the tensors have different ranks");
    sum = sum + c.value(id).sizes[axis];
  }
  y[axis] = sum;
  return c.result("cat", list, dtype, y, {{"dim", int64_t{axis}}});
}

Status optional(Call& c) {
  c.set(0, c.has(0) ? c.id(0) : c.host(DType::unknown, {}, nullptr));
  return {};
}

Status has_element(Call& c) {
  const bool there = c.has(0) && !(c.value(0).home == Home::host && c.dtype(0) == DType::unknown &&
                                   !c.lowering().find_sequence(c.id(0)));
  c.set(0, c.host(DType::boolean, {}, content_of(std::vector<Size>{there})));
  return {};
}

constexpr OpRule kRules[] = {
    {"", "ConcatFromSequence", 11, concat},
    {"", "Optional", 15, optional},
    {"", "OptionalGetElement", 15, optional},
    {"", "OptionalHasElement", 15, has_element},
    {"", "SequenceAt", 11, at},
    {"", "SequenceConstruct", 11, construct},
    {"", "SequenceEmpty", 11, empty},
    {"", "SequenceErase", 11, erase},
    {"", "SequenceInsert", 11, insert},
    {"", "SequenceLength", 11, length},
    {"", "SplitToSequence", 11, split},
};

}  // namespace

std::span<const OpRule> sequence_rules() { return kRules; }

}  // namespace ullage::onnx
