#include <algorithm>
#include <cstdint>
#include <optional>

#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/rewrite.h"
#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

// "aten.relu_.default" → "relu_"
std::string_view base_name(std::string_view aten) {
  if (!aten.starts_with("aten.")) return {};
  aten.remove_prefix(5);
  return aten.substr(0, aten.find('.'));
}

std::string_view plain(std::string_view name) {
  return name.ends_with('_') && name.size() > 1 ? name.substr(0, name.size() - 1) : name;
}

// The steps of one ATen call, in order, with what goes in and out.
struct Group {
  std::vector<StepId> steps;
  std::vector<DraftId> inputs;   // made outside; in the order of first use
  std::vector<DraftId> outputs;  // read outside
};

class Collapse {
 public:
  explicit Collapse(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft()) {}

  void run() {
    find_last_readers();
    std::vector<StepId> steps;
    std::string_view current;
    for (uint32_t s = 1; s <= draft_.nodes.size(); ++s) {
      const DraftNode& step = draft_.nodes[StepId{s}];
      if (step.dropped) continue;
      if (step.group.empty() || step.group != current) {
        close(steps);
        current = step.group;
      }
      steps.push_back(StepId{s});
    }
    close(steps);
  }

 private:
  void find_last_readers() {
    last_reader_.assign(draft_.values.size() + 1, 0);
    for (uint32_t s = 1; s <= draft_.nodes.size(); ++s) {
      const DraftNode& step = draft_.nodes[StepId{s}];
      if (step.dropped) continue;
      for (const DraftId input : step.inputs) last_reader_[input.index] = s;
    }
    for (const DraftId output : draft_.outputs) last_reader_[output.index] = UINT32_MAX;
  }

  void close(std::vector<StepId>& steps) {
    if (!steps.empty()) {
      const std::string_view aten = base_name(draft_.nodes[steps.front()].aten);
      if (!aten.empty()) {
        if (steps.size() == 1) {
          rename(draft_.nodes[steps.front()], aten);
        } else {
          join(steps, aten);
        }
      }
    }
    steps.clear();
  }

  const DraftValue& value(DraftId id) const { return draft_.values[id]; }

  // One step: its name may still be ONNX's way of saying it.
  void rename(DraftNode& step, std::string_view aten) {
    if (step.op == plain(aten)) {
      if (aten != step.op) step.op = aten;  // in place
      return;
    }
    const Sizes& to = value(step.outputs[0]).sizes;
    if (step.op == "reshape") {
      if (aten == "view" || aten == "_unsafe_view" || aten == "unflatten" || aten == "view_as") {
        step.op = "view";
        step.attrs = {{"size", as_ints(to)}};
      } else if (aten == "flatten") {
        const Sizes& from = value(step.inputs[0]).sizes;
        int start = 0;
        while (start < to.rank() && start < from.rank() && from[start] == to[start]) ++start;
        const int behind = to.rank() - 1 - start;  // dims that stay after the flattened one
        step.op = "flatten";
        step.attrs = {{"start_dim", int64_t{std::min(start, from.rank() - 1)}},
                      {"end_dim", int64_t{from.rank() - 1 - std::max(behind, 0)}}};
      }
    } else if ((step.op.starts_with("avg_pool") || step.op == "interpolate") && aten.starts_with("adaptive_avg_pool")) {
      // A pool to a larger size has no operator in ONNX; tools/export_onnx.py writes a Resize.
      step.inputs.resize(1);
      step.op = aten;
      std::vector<int64_t> size = as_ints(to);
      step.attrs = {{"output_size", std::vector<int64_t>(size.begin() + 2, size.end())}};
    } else if (step.op == "where" && plain(aten) == "masked_fill") {
      masked_fill(step, aten);
    } else if (step.op == "full" && plain(aten) == "fill") {
      step.attrs = {};
    } else if (step.op == "clamp" && (plain(aten) == "hardtanh" || plain(aten) == "relu6")) {
      bound_names(step);
      step.op = plain(aten) == aten ? "hardtanh" : "hardtanh_";
    } else if (step.op == "hardtanh" && aten == "hardtanh_") {
      step.op = aten;
    } else if (step.op == "hardtanh" && plain(aten) == "clamp") {
      step.attrs = {{"min", 0.0}, {"max", 6.0}};
      step.op = aten;
    } else if (step.op == "unsqueeze" || step.op == "squeeze" || step.op == "permute" || step.op == "transpose") {
      return;
    }
  }

  static void bound_names(DraftNode& step) {
    for (Attr& attr : step.attrs) {
      if (attr.key == "min") attr.key = "min_val";
      if (attr.key == "max") attr.key = "max_val";
    }
  }

  // where(mask, number, x) is x.masked_fill(mask, number).
  static void masked_fill(DraftNode& step, std::string_view aten) {
    std::optional<Attr> number;
    for (const Attr& attr : step.attrs) {
      if (attr.key == "self") number = Attr{"value", attr.value};
    }
    if (!number || step.inputs.size() < 3 || !step.inputs[2]) return;
    step.inputs = {step.inputs[2], step.inputs[0]};
    step.attrs = {*number};
    step.op = aten;
  }

  Group group_of(const std::vector<StepId>& steps) const {
    Group group{.steps = steps, .inputs = {}, .outputs = {}};
    const StepId first = steps.front();
    const StepId last = steps.back();
    for (const StepId s : steps) {
      for (const DraftId input : draft_.nodes[s].inputs) {
        if (!input) continue;
        const StepId producer = value(input).producer;
        const bool inside = producer && producer >= first && producer <= last;
        if (!inside && std::ranges::find(group.inputs, input) == group.inputs.end()) group.inputs.push_back(input);
      }
    }
    for (const StepId s : steps) {
      for (const DraftId output : draft_.nodes[s].outputs) {
        if (last_reader_[output.index] > last.index) group.outputs.push_back(output);
      }
    }
    return group;
  }

  // Leaves the last step alone in the place of all.
  void replace(const Group& group, std::string_view op, std::vector<DraftId> inputs, std::vector<DraftId> outputs,
               std::vector<Attr> attrs) {
    for (const StepId s : group.steps) draft_.nodes[s].dropped = true;
    DraftNode& step = draft_.nodes[group.steps.back()];
    step.dropped = false;
    step.op = op;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.attrs = std::move(attrs);
    for (const DraftId id : step.outputs) {
      if (id) draft_.values[id].producer = group.steps.back();
    }
  }

  void join(const std::vector<StepId>& steps, std::string_view aten);
  void join_lstm(const Group& group, std::string_view op);
  void join_roll(const Group& group);

  Lowering& lowering_;
  Draft& draft_;
  std::vector<uint32_t> last_reader_;  // the last step that reads a value, by DraftId index; outputs are read for ever
};

// Calls whose ONNX spelling has several operators and whose ATen spelling is: the tensors that go in, one tensor out.
constexpr std::string_view kJoinable[] = {
    "celu",
    "elu",
    "erf",
    "expm1",
    "fmod",
    "gelu",
    "glu",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "mish",
    "mse_loss",
    "cross_entropy_loss",
    "nll_loss",
    "pixel_shuffle",
    "pixel_unshuffle",
    "reflection_pad",
    "remainder",
    "replication_pad",
    "rms_norm",
    "rsqrt",
    "selu",
    "silu",
    "softplus",
    "softshrink",
    "std",
    "var",
    "bernoulli",
    "local_response_norm",
    "trunc",
    "one_hot",
    "grid_sampler",
    "affine_grid",
    "index_put",
    "stack",
    "softsign",
    "prelu",
    "scaled_dot_product_attention",
    "einsum",
    "unfold",
    "im2col",
    "col2im",
    "logical_xor",
    "norm",
    "isfinite",
    "atan2",
};

void Collapse::join(const std::vector<StepId>& steps, std::string_view aten) {
  const std::string_view name = plain(aten);
  const Group group = group_of(steps);
  DraftNode& last = draft_.nodes[steps.back()];
  if (name == "lstm" || name == "gru" || name == "rnn_tanh" || name == "rnn_relu") {
    join_lstm(group, name.starts_with("rnn") ? "rnn" : name);
    return;
  }
  if (group.outputs.size() != 1 || group.outputs[0] != last.outputs[0]) return;
  if (name == "roll") {
    join_roll(group);
    return;
  }
  if (name == "ne" && last.op == "logical_not") {  // Equal, Not
    const DraftNode& equal = draft_.nodes[steps[steps.size() - 2]];
    if (equal.op == "eq") replace(group, "ne", equal.inputs, last.outputs, equal.attrs);
    return;
  }
  if (name == "square") {
    replace(group, "pow", group.inputs, last.outputs, {{"exponent", int64_t{2}}});
    return;
  }
  if ((name == "fill" || name == "zero") && !group.inputs.empty()) {
    // Written into a part of a tensor: the tensor with the same sizes goes in and comes out.
    for (const DraftId id : group.inputs) {
      if (value(id).sizes == value(last.outputs[0]).sizes && value(id).dtype == value(last.outputs[0]).dtype) {
        replace(group, "fill_", {id}, last.outputs, {});
        return;
      }
    }
    return;
  }
  if (name == "masked_fill" && last.op == "where") {
    rename(last, aten);
    return;
  }
  if (std::ranges::find(kJoinable, name) != std::end(kJoinable)) {
    std::vector<Attr> attrs;
    for (const StepId s : steps) {
      const DraftNode& step = draft_.nodes[s];
      if (step.op == name) attrs = step.attrs;
    }
    if (name == "layer_norm" || name == "rms_norm") {
      const Sizes& x = value(group.inputs[0]).sizes;
      const int over = group.inputs.size() > 1 ? value(group.inputs[1]).sizes.rank() : 1;
      std::vector<int64_t> shape = as_ints(x);
      shape.erase(shape.begin(),
                  shape.end() - std::min<std::ptrdiff_t>(over, static_cast<std::ptrdiff_t>(shape.size())));
      if (attrs.empty()) attrs = {{"normalized_shape", shape}, {"eps", 1e-5}};
    }
    replace(group, aten, group.inputs, last.outputs, std::move(attrs));
    return;
  }
  // Several steps that eager runs as such; the last may be the one that works in place.
  if (name == last.op && aten != name && !last.inputs.empty() &&
      std::ranges::find(group.inputs, last.inputs[0]) != group.inputs.end()) {
    last.op = aten;
  }
}

// Two slices and a cat for each dim.
void Collapse::join_roll(const Group& group) {
  std::vector<int64_t> shifts;
  std::vector<int64_t> dims;
  for (const StepId s : group.steps) {
    const DraftNode& step = draft_.nodes[s];
    if (step.op != "cat" || step.inputs.empty()) continue;
    int64_t dim = 0;
    for (const Attr& attr : step.attrs) {
      if (const auto* d = std::get_if<int64_t>(&attr.value); d && attr.key == "dim") dim = *d;
    }
    dims.push_back(dim);
    shifts.push_back(value(step.inputs[0]).sizes[static_cast<int>(dim)].now);
  }
  if (group.inputs.size() != 1 || dims.empty()) return;
  replace(group, "roll", group.inputs, {group.outputs[0]}, {{"shifts", shifts}, {"dims", dims}});
}

// nn.LSTM and its kin: one op whatever the number of layers; ONNX has an operator a layer and packs the weights for it.
void Collapse::join_lstm(const Group& group, std::string_view op) {
  std::vector<DraftId> weights;
  std::vector<DraftId> tensors;
  for (const DraftId id : group.inputs) (lowering_.owned(value(id)) ? weights : tensors).push_back(id);
  if (tensors.empty() || group.outputs.empty()) return;
  std::ranges::sort(weights);  // as the file lists them: by layer, weight_ih, weight_hh, bias_ih, bias_hh
  int64_t layers = 0;
  std::vector<Attr> attrs;
  double dropout = 0;
  bool train = false;
  for (const StepId s : group.steps) {
    const DraftNode& step = draft_.nodes[s];
    if (step.op == op) {
      ++layers;
      attrs = step.attrs;
    } else if (step.op == "dropout") {
      for (const Attr& attr : step.attrs) {
        if (attr.key == "p" && std::holds_alternative<double>(attr.value)) dropout = std::get<double>(attr.value);
        if (attr.key == "train" && std::holds_alternative<int64_t>(attr.value))
          train = std::get<int64_t>(attr.value) != 0;
      }
    }
  }
  if (layers == 0) return;
  const Sizes& y = value(group.outputs[0]).sizes;
  const Sizes& x = value(tensors[0]).sizes;
  for (Attr& attr : attrs) {
    if (attr.key == "num_layers") attr.value = layers;
    if (attr.key == "batch_first")
      attr.value = int64_t{y.rank() == 3 && x.rank() == 3 && draft_.nodes[group.steps.front()].op != op};
    if (attr.key == "has_biases")
      attr.value = int64_t{weights.size() % 4 == 0 && weights.size() >= static_cast<size_t>(layers) * 4};
  }
  attrs.push_back({"train", int64_t{train}});
  attrs.push_back({"dropout", dropout});
  std::vector<DraftId> inputs{tensors[0]};
  const size_t states = op == "lstm" ? 2 : 1;
  for (size_t i = 1; i <= states; ++i) inputs.push_back(i < tensors.size() ? tensors[i] : DraftId{});
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  replace(group, op, std::move(inputs), group.outputs, std::move(attrs));
}

}  // namespace

void collapse(Lowering& lowering) { Collapse(lowering).run(); }

}  // namespace ullage::onnx
