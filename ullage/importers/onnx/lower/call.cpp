#include "ullage/importers/onnx/lower/call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"

namespace ullage::onnx {

Call::Call(Lowering& lowering, const Node& node, int opset) : lowering_(lowering), node_(node), opset_(opset) {
  inputs_.reserve(node.inputs.size());
  for (const std::string_view name : node.inputs) inputs_.push_back(name.empty() ? DraftId{} : lowering.find(name));
}

std::string Call::label() const { return node_.place(); }
const DraftValue& Call::value(DraftId id) const { return lowering_.draft().values[id]; }
const DraftValue& Call::value(size_t i) const {
  check(has(i), "Call::value: the handler asks has(i) first");
  return value(inputs_[i]);
}

std::optional<double> Call::number(DraftId id) const {
  if (!id) return std::nullopt;
  const DraftValue& v = value(id);
  if (!v.content || v.content->count() != 1 || v.sizes.rank() > 1) return std::nullopt;
  if (v.home == Home::host || (v.home == Home::stored && !lowering_.owned(v))) return v.content->real(0);
  return std::nullopt;
}

Attr Call::number_attr(std::string_view key, DraftId id) const {
  const Content& content = *value(id).content;
  if (content.is_real) return {key, content.reals[0]};
  return {key, content.ints[0].now};
}

bool Call::has_attr(std::string_view name) const { return node_.find(name) != nullptr; }
int64_t Call::attr(std::string_view name, int64_t otherwise) const { return node_.integer(name, otherwise); }
double Call::real(std::string_view name, double otherwise) const {
  const Attribute* found = node_.find(name);
  return found ? meant(found->real) : otherwise;
}
std::string_view Call::text(std::string_view name, std::string_view otherwise) const {
  return node_.text(name, otherwise);
}
std::vector<int64_t> Call::ints(std::string_view name) const {
  const auto list = node_.integers(name);
  return {list.begin(), list.end()};
}

Result<std::optional<std::vector<Size>>> Call::ints_or_input(std::string_view name, size_t i) const {
  if (has_attr(name)) {
    const auto list = node_.integers(name);
    if (list.empty() && node_.find(name)->type == AttributeType::integer) return std::vector<Size>{attr(name, 0)};
    return std::vector<Size>(list.begin(), list.end());
  }
  if (!has(i)) return std::nullopt;
  UL_TRY(std::vector<Size> list, known(i, name));
  return list;
}

Result<std::vector<Size>> Call::known(size_t i, std::string_view what) const {
  if (!has(i)) return error(fmt::format("input {} ({}) is missing", i, what));
  const DraftValue& v = value(i);
  if (!v.content) {
    const bool stored = v.home == Home::stored;
    return unsupported(stored
                           ? fmt::format("its {} is in {}, whose values are not in the file", what, v.name)
                           : fmt::format("its {} ({}) depends on values that are computed at run time", what, v.name),
                       stored ? "put the file that holds the external data beside the model" : "");
  }
  std::vector<Size> list;
  list.reserve(v.content->count());
  for (size_t k = 0; k < v.content->count(); ++k) list.push_back(v.content->integer(k));
  return list;
}

Result<int> Call::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= std::max(rank, 1)) {
    return error(fmt::format("axis {} of a tensor with {} dims", axis, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int64_t>> Call::axes(std::span<const Size> list, int rank) const {
  std::vector<int64_t> out;
  for (const Size a : list) {
    UL_TRY(const int d, axis(a.now, rank));
    out.push_back(d);
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

void Call::use(DraftId id, Use use) {
  if (!id) return;
  DraftValue& value = lowering_.draft().values[id];
  if (value.use == Use::unknown) value.use = use;
}

DraftId Call::flipped(DraftId weight) {
  DraftValue view = value(weight);
  view.sizes = Sizes{view.sizes[1], view.sizes[0]};
  view.flipped_from = weight;
  view.content = nullptr;
  return lowering_.add(std::move(view));
}

std::string_view Call::aten() const { return find_metadata(node_.metadata, "ullage.aten"); }

DraftId Call::step(std::string_view op, std::vector<DraftId> inputs, DType dtype, Sizes sizes,
                   std::vector<Attr> attrs) {
  const Made made{dtype, sizes};
  return steps(op, std::move(inputs), {&made, 1}, std::move(attrs))[0];
}

std::vector<DraftId> Call::steps(std::string_view op, std::vector<DraftId> inputs, std::span<const Made> outputs,
                                 std::vector<Attr> attrs) {
  Draft& draft = lowering_.draft();
  const StepId id{static_cast<uint32_t>(draft.nodes.size() + 1)};
  DraftNode node{.op = op, .source = &node_, .inputs = std::move(inputs), .attrs = std::move(attrs)};
  node.group = find_metadata(node_.metadata, "ullage.node");
  node.aten = find_metadata(node_.metadata, "ullage.aten");
  for (const Made& made : outputs) {
    node.outputs.push_back(
        lowering_.add({.name = {}, .dtype = made.dtype, .home = Home::made, .sizes = made.sizes, .producer = id}));
  }
  std::vector<DraftId> made = node.outputs;
  draft.nodes.push(std::move(node));
  return made;
}

DraftId Call::host(DType dtype, Sizes sizes, ContentPtr content) {
  return lowering_.add({.name = {}, .dtype = dtype, .home = Home::host, .sizes = sizes, .content = std::move(content)});
}

size_t Call::output_count() const { return node_.outputs.size(); }
bool Call::wants(size_t k) const { return k < node_.outputs.size() && !node_.outputs[k].empty(); }
void Call::set(size_t k, DraftId id) {
  if (wants(k)) lowering_.bind(node_.outputs[k], id);
}

Status Call::result(std::string_view op, std::vector<DraftId> inputs, DType dtype, Sizes sizes,
                    std::vector<Attr> attrs) {
  set(0, step(op, std::move(inputs), dtype, sizes, std::move(attrs)));
  return {};
}

std::optional<Made> Call::declared(size_t k) const {
  if (!wants(k)) return std::nullopt;
  const ValueInfo* info = lowering_.declared(node_.outputs[k]);
  if (!info) return std::nullopt;
  const auto sizes = lowering_.sizes_of(*info);
  if (!sizes) return std::nullopt;
  return Made{info->dtype == DType::unknown ? DType::f32 : info->dtype, *sizes};
}

Result<Sizes> Call::broadcast(const Sizes& a, const Sizes& b) const {
  const Sizes& longer = a.rank() >= b.rank() ? a : b;
  const Sizes& other = a.rank() >= b.rank() ? b : a;
  Sizes out = longer;
  const int shift = longer.rank() - other.rank();
  for (int d = 0; d < other.rank(); ++d) {
    const Size x = longer[d + shift];
    const Size y = other[d];
    if (x.now != y.now && x.now != 1 && y.now != 1) {
      const std::string sizes = fmt::format("{} and {}", a.shape().to_string(), b.shape().to_string());
      if (x.was == y.was) {
        return unsupported(
            fmt::format("at the batch asked for its inputs ({}) no longer go together: one of them was fixed at export",
                        sizes),
            "export the model with a dynamic batch, or ask for the batch it was exported with");
      }
      return error(fmt::format("its inputs ({}) do not go together", sizes));
    }
    out[d + shift] = {x.now == 1 ? y.now : x.now, x.was == 1 ? y.was : x.was};
  }
  return out;
}

void Call::rebatched(std::string_view what) {
  lowering_.notes().add("rebatched_constant", fmt::format("{}: {}", label(), what));
}
void Call::note(std::string_view kind, std::string_view detail) {
  lowering_.notes().add(kind, detail.empty() ? label() : fmt::format("{}: {}", label(), detail));
}

tl::unexpected<Error> Call::error(std::string message, std::string hint) const {
  return fail(ErrorCode::format, std::move(message), label(), std::move(hint));
}
tl::unexpected<Error> Call::unsupported(std::string message, std::string hint) const {
  return fail(ErrorCode::unsupported, std::move(message), label(), std::move(hint));
}

}  // namespace ullage::onnx
