#include "ullage/importers/onnx/lower/emit.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/module_path.h"
#include "ullage/importers/onnx/lower/rewrite.h"

namespace ullage::onnx {
namespace {

enum class Role { parameter, buffer, number, table };  // table: made by Python at every forward

class Emitter {
 public:
  explicit Emitter(Lowering& lowering)
      : lowering_(lowering),
        draft_(lowering.draft()),
        builder_(std::string(lowering.model().graph.name), "onnx"),
        ids_(draft_.values.size() + 1) {}

  Result<Graph> run() {
    settle_flipped();
    find_made_weights();
    add_stored();
    for (const DraftId id : draft_.inputs) {
      const DraftValue& v = draft_.values[id];
      ids_[id.index] = builder_.input(std::string(v.name), v.dtype, v.sizes.shape());
    }
    for (const DraftNode& step : draft_.nodes) {
      if (!step.dropped) add_step(step);
    }
    for (const DraftId id : draft_.outputs) builder_.output(value_of(id, "output"));
    Graph& graph = builder_.graph();
    graph.batch = lowering_.batch();
    order_parameters();
    return std::move(builder_).finish();
  }

 private:
  static std::string_view metadata(const Lowering& l, std::string_view key) {
    return find_metadata(l.model().metadata, key);
  }

  Role role_of(const DraftValue& v) const {
    if (!metadata(lowering_, "ullage.parameters").empty()) {
      if (!lowering_.owned(v)) return v.sizes.numel().now == 1 ? Role::number : Role::table;
      return lowering_.listed_buffer(v.name) ? Role::buffer : Role::parameter;
    }
    if (v.use == Use::statistic) return Role::buffer;
    if (is_floating(v.dtype) || is_complex(v.dtype)) return lowering_.owned(v) ? Role::parameter : Role::number;
    if (v.from_constant) return v.sizes.numel().now == 1 ? Role::number : Role::table;
    return v.sizes.rank() == 0 ? Role::number : Role::buffer;
  }

  // A weight that the file stores as [in, out]: the module has it as [out, in], unless another op reads it as it is
  // stored.
  void settle_flipped() {
    const std::vector<int> reads = read_counts(draft_);
    for (uint32_t i = 1; i <= draft_.values.size(); ++i) {
      DraftValue& v = draft_.values[DraftId{i}];
      if (!v.flipped_from || reads[i] == 0) continue;
      DraftValue& base = draft_.values[v.flipped_from];
      if (base.use == Use::unknown) base.use = Use::weight;
      if (reads[v.flipped_from.index] == 0) {
        flipped_into_.resize(draft_.values.size() + 1);
        flipped_into_[v.flipped_from.index] = true;
      }
    }
  }

  bool is_flipped(DraftId base) const { return base.index < flipped_into_.size() && flipped_into_[base.index]; }

  // Weights that a light file makes with ConstantOfShape.
  void find_made_weights() {
    for (DraftNode& step : draft_.nodes) {
      if (step.dropped || step.op != "full") continue;
      DraftValue& v = draft_.values[step.outputs[0]];
      if (v.use == Use::unknown || step.source->op != "ConstantOfShape") continue;
      step.dropped = true;
      v.home = Home::stored;
      v.producer = {};
    }
  }

  void add_stored() {
    const std::vector<int> reads = read_counts(draft_);
    std::vector<int> base_reads = reads;
    for (uint32_t i = 1; i <= draft_.values.size(); ++i) {
      const DraftValue& v = draft_.values[DraftId{i}];
      if (v.flipped_from) base_reads[v.flipped_from.index] += reads[i];
    }
    for (uint32_t i = 1; i <= draft_.values.size(); ++i) {
      const DraftValue& v = draft_.values[DraftId{i}];
      if (v.home != Home::stored || v.flipped_from) continue;
      const Role role = role_of(v);
      const bool unread = base_reads[i] == 0;
      if (unread && !keep_unread(v, role)) continue;
      if (role != Role::parameter && role != Role::buffer) continue;
      if (unread && role == Role::parameter) lowering_.notes().add("unused_initializer", v.name);
      Shape shape = v.sizes.shape();
      if (is_flipped(DraftId{i})) shape = Shape{shape[1], shape[0]};
      ids_[i] = role == Role::parameter ? builder_.parameter(std::string(v.name), v.dtype, shape)
                                        : builder_.buffer(std::string(v.name), v.dtype, shape);
      add_batch_counter(v);
    }
    for (uint32_t i = 1; i <= draft_.values.size(); ++i) {
      const DraftValue& v = draft_.values[DraftId{i}];
      if (v.flipped_from && is_flipped(v.flipped_from)) ids_[i] = ids_[v.flipped_from.index];
    }
  }

  // The module owns what no op reads: unused heads, num_batches_tracked.
  bool keep_unread(const DraftValue& v, Role role) const {
    if (v.from_constant || !v.stored || v.home != Home::stored) return false;
    if (!metadata(lowering_, "ullage.parameters").empty()) return lowering_.owned(v);
    if (v.name.ends_with("num_batches_tracked")) return true;
    return role == Role::parameter && !v.content && v.use == Use::unknown && v.sizes.rank() > 0 &&
           !v.name.starts_with("val_");
  }

  // nn.BatchNorm owns a counter that no export keeps; PyTorch's order is weight, bias, running_mean, running_var,
  // counter.
  void add_batch_counter(const DraftValue& v) {
    if (v.use != Use::statistic || !metadata(lowering_, "ullage.buffers").empty()) return;
    constexpr std::string_view kMean = "running_mean";
    constexpr std::string_view kVar = "running_var";
    const std::string_view end = v.name.ends_with(kVar) ? kVar : std::string_view();
    std::string name;
    if (!end.empty()) {
      name = std::string(v.name.substr(0, v.name.size() - end.size())) + "num_batches_tracked";
    } else if (!v.name.ends_with(kMean) && (++nameless_statistics_ % 2) == 0) {
      name = fmt::format("{}.num_batches_tracked", v.name);
    }
    if (name.empty() || lowering_.find(name)) return;
    builder_.buffer(name, DType::i64, Shape{});
    if (counters_++ == 0) {
      builder_.graph().assumptions.emplace_back(
          "every batch norm owns an int64 counter num_batches_tracked (8 bytes), which the export left out");
    }
  }

  ValueId value_of(DraftId id, std::string_view wanted_by) {
    if (!id) return {};
    ValueId& known = ids_[id.index];
    if (known) return known;
    const DraftValue& v = draft_.values[id];
    if (v.flipped_from) {  // also read as it is stored: the module has it so, and this use sees a view
      const ValueId base = value_of(v.flipped_from, wanted_by);
      known = builder_.activation(fmt::format("{}.t", v.name), v.dtype, v.sizes.shape());
      builder_.node("transpose", fmt::format("{}.t", v.name), {}, {base}, {known},
                    {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
      return known;
    }
    const bool number =
        v.sizes.numel().now == 1 && v.sizes.rank() <= 1 && (v.home == Home::host || v.home == Home::stored);
    std::string name = v.name.empty() ? fmt::format("{}.constant", wanted_by) : std::string(v.name);
    if (number) return known = builder_.constant(std::move(name), v.dtype, v.sizes.shape());
    known = builder_.activation(name, v.dtype, v.sizes.shape());
    if (v.home == Home::host || v.home == Home::stored) builder_.node("constant", std::move(name), {}, {}, {known}, {});
    return known;
  }

  ModuleId module_of(const DraftNode& step) {
    if (step.source == last_source_) return last_module_;
    last_source_ = step.source;
    std::string path = module_path(*step.source);
    if (path.empty() && find_metadata(step.source->metadata, "ullage.node").empty()) path = owner_of_weights(step);
    return last_module_ = path.empty() ? ModuleId{} : builder_.module(path);
  }

  // "layer1.0.conv1.weight" is read by the module "layer1.0.conv1".
  std::string owner_of_weights(const DraftNode& step) const {
    for (const DraftId id : step.inputs) {
      const DraftValue& v = draft_.values[id];
      if (!id || v.home != Home::stored || v.use == Use::unknown) continue;
      const size_t dot = v.name.rfind('.');
      if (dot != std::string_view::npos && v.name.find('/') == std::string_view::npos)
        return std::string(v.name.substr(0, dot));
    }
    return {};
  }

  void add_step(const DraftNode& step) {
    std::vector<ValueId> inputs;
    inputs.reserve(step.inputs.size());
    for (const DraftId id : step.inputs) inputs.push_back(value_of(id, step.source->name));
    std::vector<ValueId> outputs;
    outputs.reserve(step.outputs.size());
    for (const DraftId id : step.outputs) {
      const DraftValue& v = draft_.values[id];
      std::string name = v.name.empty()
                             ? std::string(step.source->outputs.empty() ? step.source->name : step.source->outputs[0])
                             : std::string(v.name);
      if (v.name.empty()) name += fmt::format(".{}", step.op);
      outputs.push_back(ids_[id.index] = builder_.activation(std::move(name), v.dtype, v.sizes.shape()));
    }
    std::string name(step.source->name);
    if (name.empty() && !step.source->outputs.empty()) name = step.source->outputs[0];
    builder_.node(step.op, std::move(name), module_of(step), std::move(inputs), std::move(outputs), step.attrs);
  }

  // The optimizer's order: as the exporter lists them; else the order of the file, which exporters of PyTorch keep.
  void order_parameters() {
    const std::string_view list = metadata(lowering_, "ullage.parameters");
    if (list.empty()) return;
    tsl::robin_map<std::string_view, ValueId> by_name;
    Graph& graph = builder_.graph();
    for (const ValueId id : graph.parameters) by_name[graph.values[id].name] = id;
    std::vector<ValueId> ordered;
    for (std::string_view rest = list; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const auto found = by_name.find(rest.substr(0, end));
      if (found != by_name.end()) {
        ordered.push_back(found->second);
        by_name.erase(found);
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (const ValueId id : graph.parameters) {
      if (by_name.contains(graph.values[id].name)) ordered.push_back(id);
    }
    graph.parameters = std::move(ordered);
  }

  Lowering& lowering_;
  Draft& draft_;
  GraphBuilder builder_;
  std::vector<ValueId> ids_;
  std::vector<bool> flipped_into_;
  const Node* last_source_ = nullptr;
  ModuleId last_module_;
  int counters_ = 0;
  int nameless_statistics_ = 0;
};

}  // namespace

Result<Graph> emit(Lowering& lowering) { return Emitter(lowering).run(); }

}  // namespace ullage::onnx
