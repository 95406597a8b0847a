#include "ullage/importers/onnx/lower/lowering.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/fold.h"

namespace ullage::onnx {
namespace {

constexpr int64_t kMaxReals = 16;         // elements of real constants that are read: scalars, factors of Resize
constexpr int kMaxDepth = 32;             // nested subgraphs; real files have 3
constexpr int64_t kMaxSteps = 4'000'000;  // ATen steps of one graph, loops unrolled

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

enum class Symbol { batch, sequence, other };

// What people and exporters call the two dims that a recipe sets.
Symbol kind_of(std::string_view param) {
  const std::string name = lower_case(param);
  if (name == "n" || name == "b" || name == "bs" || name.find("batch") != std::string::npos) {
    return name.find('*') == std::string::npos && name.find('+') == std::string::npos ? Symbol::batch : Symbol::other;
  }
  if (name == "s" || name == "t" || name == "l" || name == "time" || name.find("seq") != std::string::npos ||
      name.find("length") != std::string::npos || name == "target" || name == "tokens") {
    return Symbol::sequence;
  }
  return Symbol::other;
}

constexpr int64_t kDefaultBatch = 1;
constexpr int64_t kDefaultSequence = 128;
constexpr int64_t kDefaultImage = 224;  // height and width of an image input that the file leaves open

}  // namespace

Lowering::Lowering(const FileModel& model, const Bindings& bindings, Diagnostics& notes)
    : model_(model), bindings_(bindings), notes_(notes), opset_(model.opset()) {
  names_.reserve(model.graph.nodes.size() * 2 + model.graph.initializers.size());
  constexpr std::string_view kLists[] = {"ullage.parameters", "ullage.buffers"};
  for (const std::string_view key : kLists) {
    for (std::string_view list = find_metadata(model.metadata, key); !list.empty();) {
      const size_t end = std::min(list.find('\n'), list.size());
      if (end > 0) listed_.insert(list.substr(0, end));
      if (end > 0 && key == "ullage.buffers") buffers_.insert(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }
}

DraftId Lowering::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? DraftId{} : found->second;
}

void Lowering::bind(std::string_view name, DraftId id) {
  if (name.empty()) return;
  const auto [at, fresh] = names_.insert({name, id});
  if (depth_ > 0) shadowed_.emplace_back(name, fresh ? DraftId{} : at->second);
  if (!fresh) at.value() = id;
  DraftValue& value = draft_.values[id];
  if (value.name.empty()) value.name = name;
}

DraftId Lowering::add(DraftValue value) { return draft_.values.push(std::move(value)); }

const std::vector<DraftId>* Lowering::find_sequence(DraftId id) const {
  const auto found = sequences_.find(id.index);
  return found == sequences_.end() ? nullptr : &found->second;
}

DraftId Lowering::store(const Tensor& tensor, bool from_constant) {
  DraftValue value{.name = tensor.name, .dtype = tensor.dtype, .home = Home::stored, .stored = &tensor};
  value.from_constant = from_constant;
  if (value.dtype == DType::unknown) notes_.add("unknown_dtype", tensor.name);
  for (const int64_t dim : tensor.dims) value.sizes.push(dim);
  const int64_t count = tensor.numel();
  if (count <= kMaxContent && !tensor.sparse && tensor.payload != Payload::none) {
    if (is_floating(value.dtype) && count <= kMaxReals && tensor.payload == Payload::inside) {
      if (auto reals = read_reals(model_, tensor)) {
        for (double& x : *reals) {
          if (value.dtype == DType::f32) x = meant(static_cast<float>(x));
        }
        value.content = content_of(std::move(*reals));
      }
    } else if (!is_floating(value.dtype) && !is_complex(value.dtype) && value.dtype != DType::string) {
      if (const auto ints = read_ints(model_, tensor))
        value.content = content_of(std::vector<Size>(ints->begin(), ints->end()));
    }
  }
  return add(std::move(value));
}

bool Lowering::owned(const DraftValue& value) const {
  if (value.home != Home::stored) return false;
  if (value.use != Use::unknown) return true;
  // An exporter that lists what the module owns: everything else is a number or table that Python code made.
  if (!listed_.empty()) return !value.from_constant && listed_.contains(value.name);
  if (value.sizes.rank() == 0) return false;
  if (value.from_constant) return is_floating(value.dtype) && value.sizes.numel().now > 1;
  // Names that exporters give to folded constants, as against those of a module's tensors.
  const bool made_up = value.name.starts_with("val_") || value.name.starts_with("/") ||
                       value.name.starts_with("onnx::") || value.name.find("Constant") != std::string_view::npos;
  return !(made_up && value.sizes.numel().now == 1);
}

std::optional<Sizes> Lowering::sizes_of(const ValueInfo& info) {
  if (!info.has_shape || info.dims.size() > kMaxRank) return std::nullopt;
  Sizes sizes;
  for (const Dim& dim : info.dims) {
    if (dim.known()) {
      sizes.push(dim.value);
    } else {
      const auto known = symbols_.find(dim.param);
      if (known == symbols_.end()) notes_.add("dynamic_dim_assumed", fmt::format("{} of {} = 1", dim.param, info.name));
      sizes.push(known == symbols_.end() ? Size(1) : known->second);
    }
  }
  if (frozen_batch_ && sizes.rank() > 0 && sizes[0] == Size(frozen_batch_->was)) sizes[0] = *frozen_batch_;
  return sizes;
}

const ValueInfo* Lowering::declared(std::string_view name) const {
  const auto found = declared_.find(name);
  return found == declared_.end() ? nullptr : found->second;
}

Size Lowering::symbol(std::string_view param, int dim, const ValueInfo& info) {
  if (!param.empty()) {
    if (const auto known = symbols_.find(param); known != symbols_.end()) return known->second;
  }
  Symbol kind = kind_of(param);
  const int rank = static_cast<int>(info.dims.size());
  const bool tokens = !is_floating(info.dtype);
  if (kind == Symbol::other && dim == 0 && rank >= 1) kind = Symbol::batch;
  if (kind == Symbol::other && dim == 1 && rank == 2 && tokens) kind = Symbol::sequence;
  std::optional<int64_t> given;
  int64_t size = 1;
  switch (kind) {
    case Symbol::batch:
      given = bindings_.batch;
      size = given.value_or(kDefaultBatch);
      break;
    case Symbol::sequence:
      given = bindings_.seq;
      size = given.value_or(kDefaultSequence);
      break;
    case Symbol::other:
      size = rank == 4 && dim >= 2 && !tokens ? kDefaultImage : 1;
      break;
  }
  if (!given) {
    notes_.add("dynamic_dim_assumed",
               fmt::format("{} (dim {} of input {}) = {}", param.empty() ? "unnamed" : param, dim, info.name, size));
  }
  if (!param.empty()) symbols_[param] = size;
  return size;
}

Result<Sizes> Lowering::input_sizes(const ValueInfo& info, const InputBinding* binding, bool first) {
  Sizes sizes;
  const std::string place = fmt::format("input {}", info.name);
  if (info.dims.size() > kMaxRank) return fail(ErrorCode::limit, fmt::format("{} dims", info.dims.size()), place);
  if (binding) {
    if (info.has_shape && binding->shape.rank() != static_cast<int>(info.dims.size())) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} has {} dims, the file wants {}", binding->shape.to_string(), binding->shape.rank(),
                              info.dims.size()),
                  place, "give --input as NAME=1x3x224x224");
    }
    for (int d = 0; d < binding->shape.rank(); ++d) {
      const Dim dim = info.has_shape ? info.dims[static_cast<size_t>(d)] : Dim{};
      sizes.push(dim.known() ? Size(binding->shape[d], dim.value) : Size(binding->shape[d]));
      if (!dim.known() && !dim.param.empty()) symbols_[dim.param] = binding->shape[d];
      if (d == 0 && dim.known() && dim.value != binding->shape[d]) frozen_batch_ = sizes[0];
    }
    return sizes;
  }
  if (!info.has_shape) {
    return fail(ErrorCode::unsupported, "its shape is not in the file", place, "give it with --input NAME=1x3x224x224");
  }
  for (int d = 0; d < static_cast<int>(info.dims.size()); ++d) {
    const Dim& dim = info.dims[static_cast<size_t>(d)];
    if (!dim.known()) {
      sizes.push(symbol(dim.param, d, info));
      continue;
    }
    Size size = dim.value;
    if (d == 0 && bindings_.batch && info.dims.size() > 1 && *bindings_.batch != dim.value) {
      if (first) frozen_batch_ = Size(*bindings_.batch, dim.value);
      if (frozen_batch_ && frozen_batch_->was == dim.value) size = *frozen_batch_;
    }
    const bool tokens = !is_floating(info.dtype) && info.dims.size() == 2;
    if (d == 1 && bindings_.seq && tokens && *bindings_.seq != dim.value) size = Size(*bindings_.seq, dim.value);
    sizes.push(size);
  }
  return sizes;
}

// Exports without parameters list the weights only among the inputs.
void Lowering::find_weights_among_inputs() {
  if (!model_.graph.initializers.empty() || model_.graph.inputs.size() < 2) return;
  tsl::robin_map<std::string_view, const ValueInfo*> inputs;
  for (const ValueInfo& info : model_.graph.inputs) inputs[info.name] = &info;
  for (const Node& node : model_.graph.nodes) {
    const bool takes_weights = node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm" ||
                               node.op == "MatMul" || node.op == "BatchNormalization" || node.op == "LSTM" ||
                               node.op == "GRU" || node.op == "RNN" || node.op == "PRelu" ||
                               node.op == "InstanceNormalization" || node.op == "LayerNormalization" ||
                               node.op == "Add" || node.op == "Mul" || node.op == "Reshape";
    if (!takes_weights) continue;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const auto found = inputs.find(node.inputs[i]);
      if (found == inputs.end() || found->second->name == model_.graph.inputs.front().name) continue;
      const auto& dims = found->second->dims;
      const bool fixed = found->second->has_shape && !dims.empty() && std::ranges::all_of(dims, &Dim::known);
      if (fixed) weight_inputs_.push_back(found->second);
    }
  }
}

Status Lowering::add_inputs() {
  std::vector<bool> used(bindings_.inputs.size(), false);
  bool first = true;
  std::string available;
  for (const ValueInfo& info : model_.graph.inputs) {
    if (find(info.name)) continue;  // IR 3 lists initializers as inputs
    if (std::ranges::find(weight_inputs_, &info) != weight_inputs_.end()) {
      DraftValue value{.name = info.name, .dtype = info.dtype, .home = Home::stored, .use = Use::weight};
      for (const Dim& dim : info.dims) value.sizes.push(dim.value);
      bind(info.name, add(std::move(value)));
      continue;
    }
    available += fmt::format("{}{}", available.empty() ? "" : ", ", info.name);
    const InputBinding* binding = nullptr;
    for (size_t b = 0; b < bindings_.inputs.size(); ++b) {
      if (bindings_.inputs[b].name == info.name || (first && bindings_.inputs[b].name.empty())) {
        binding = &bindings_.inputs[b];
        used[b] = true;
      }
    }
    if (info.kind != TypeKind::tensor && info.kind != TypeKind::none && info.kind != TypeKind::optional) {
      return fail(ErrorCode::unsupported, "an input that is not a tensor", fmt::format("input {}", info.name));
    }
    UL_TRY(Sizes sizes, input_sizes(info, binding, first));
    DraftValue value{.name = info.name, .dtype = info.dtype, .home = Home::input, .sizes = sizes};
    if (binding && binding->dtype) value.dtype = *binding->dtype;
    if (first && sizes.rank() > 0) batch_ = sizes[0].now;
    first = first && sizes.rank() == 0;
    const DraftId id = add(std::move(value));
    bind(info.name, id);
    draft_.inputs.push_back(id);
  }
  for (size_t b = 0; b < used.size(); ++b) {
    if (!used[b]) {
      return fail(ErrorCode::invalid_argument, fmt::format("the model has no input named {}", bindings_.inputs[b].name),
                  "--input", fmt::format("its inputs are: {}", available));
    }
  }
  return {};
}

void Lowering::declare(const FileGraph& graph) {
  for (const auto* list : {&graph.value_info, &graph.outputs}) {
    for (const ValueInfo& info : *list) {
      if (info.has_shape) declared_[info.name] = &info;
    }
  }
}

Status Lowering::add_outputs() {
  for (const ValueInfo& info : model_.graph.outputs) {
    const DraftId id = find(info.name);
    if (!id) return fail(ErrorCode::format, "no node makes it", fmt::format("output {}", info.name));
    draft_.outputs.push_back(id);
  }
  return {};
}

Status Lowering::run() {
  for (const Tensor& tensor : model_.graph.initializers) {
    if (tensor.dims.size() > kMaxRank) {
      return fail(ErrorCode::limit, fmt::format("{} dims", tensor.dims.size()),
                  fmt::format("initializer {}", tensor.name));
    }
    const DraftId id = store(tensor, false);
    bind(tensor.name, id);
  }
  declare(model_.graph);
  find_weights_among_inputs();
  UL_TRY_STATUS(add_inputs());
  UL_TRY_STATUS(lower_nodes(model_.graph.nodes));
  return add_outputs();
}

Result<std::vector<DraftId>> Lowering::subgraph(const FileGraph& graph, std::span<const DraftId> bound) {
  if (depth_ >= kMaxDepth) return fail(ErrorCode::limit, fmt::format("subgraphs nested deeper than {}", kMaxDepth));
  ++depth_;
  const size_t mark = shadowed_.size();
  declare(graph);
  for (const Tensor& tensor : graph.initializers) {
    if (tensor.dims.size() > kMaxRank)
      return fail(ErrorCode::limit, "too many dims", fmt::format("initializer {}", tensor.name));
    bind(tensor.name, store(tensor, false));
  }
  for (size_t i = 0; i < graph.inputs.size() && i < bound.size(); ++i) {
    if (bound[i]) bind(graph.inputs[i].name, bound[i]);
  }
  Status status = lower_nodes(graph.nodes);
  std::vector<DraftId> outputs;
  if (status) {
    for (const ValueInfo& info : graph.outputs) {
      outputs.push_back(find(info.name));
      if (!outputs.back())
        status = fail(ErrorCode::format, "no node makes it", fmt::format("output {} of a subgraph", info.name));
    }
  }
  while (shadowed_.size() > mark) {
    const auto [name, old] = shadowed_.back();
    shadowed_.pop_back();
    if (old) {
      names_[name] = old;
    } else {
      names_.erase(name);
    }
  }
  --depth_;
  if (!status) return tl::unexpected(status.error());
  return outputs;
}

Status Lowering::lower_nodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) UL_TRY_STATUS(lower_node(node));
  return {};
}

Status Lowering::lower_node(const Node& node) {
  if (static_cast<int64_t>(draft_.nodes.size()) > kMaxSteps) {
    return fail(ErrorCode::limit, fmt::format("more than {} operators once loops are unrolled", kMaxSteps),
                node.place());
  }
  Call call(*this, node, static_cast<int>(node.domain.empty() ? opset_ : model_.opset(node.domain)));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].empty() && !call.inputs_[i]) {
      return fail(ErrorCode::format, fmt::format("reads {}, which nothing before it makes", node.inputs[i]),
                  node.place(), "nodes must be in an order in which every value is made before it is read");
    }
  }
  const size_t first_step = draft_.nodes.size();
  const size_t first_value = draft_.values.size();
  const OpRule* rule = find_rule(node.domain, node.op, call.opset());
  UL_TRY_STATUS(rule ? rule->lower(call) : unknown(call));

  // What is known of the elements of the results.
  const bool from_numbers = !makes_tensor(node.op) && std::ranges::all_of(call.inputs(), [&](DraftId id) {
    return !id || draft_.values[id].home == Home::host || call.number(id);
  });
  bool all_known = true;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const DraftId id = find(node.outputs[k]);
    if (node.outputs[k].empty() || !id || id.index <= first_value) continue;
    DraftValue& value = draft_.values[id];
    if (!value.content) value.content = fold(call, k, value.dtype, value.sizes);
    all_known = all_known && value.content;
  }
  if (from_numbers && all_known) {  // Python computed it: no step on the device
    for (size_t s = first_step + 1; s <= draft_.nodes.size(); ++s)
      draft_.nodes[StepId{static_cast<uint32_t>(s)}].dropped = true;
    for (size_t v = first_value + 1; v <= draft_.values.size(); ++v) {
      DraftValue& value = draft_.values[DraftId{static_cast<uint32_t>(v)}];
      if (value.home == Home::made) value.home = Home::host;
    }
  }
  return {};
}

// Counts the outputs of an operator that no row knows.
Status Lowering::unknown(Call& call) {
  const Node& node = call.node();
  notes_.add("unknown_op", node.place());
  std::vector<Made> made;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (const auto declared = call.declared(k)) {
      made.push_back(*declared);
      continue;
    }
    Made like{DType::f32, {}};
    for (size_t i = 0; i < call.input_count(); ++i) {
      if (call.has(i)) {
        like = {call.dtype(i), call.sizes(i)};
        break;
      }
    }
    made.push_back(like);
  }
  std::vector<DraftId> inputs;
  for (const DraftId id : call.inputs()) {
    if (id) inputs.push_back(id);
  }
  const auto outputs = call.steps(node.op, std::move(inputs), made);
  for (size_t k = 0; k < outputs.size(); ++k) call.set(k, outputs[k]);
  return {};
}

}  // namespace ullage::onnx
