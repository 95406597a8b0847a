// Lowering: the state of one lowering: names in scope, what the bindings say about sizes, the draft being made.
//
//   names ──▶ draft values     a subgraph (If, Loop, Scan) sees the names around it; its own end with it
//
// The handlers do not use this class directly but through Call.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "ullage/importers/importer.h"
#include "ullage/importers/onnx/lower/call.h"
#include "ullage/importers/onnx/lower/draft.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

class Lowering {
 public:
  Lowering(const FileModel& model, const Bindings& bindings, Diagnostics& notes);

  // Initializers, inputs, nodes and outputs of the main graph into the draft.
  Status run();

  const FileModel& model() const { return model_; }
  Diagnostics& notes() { return notes_; }
  Draft& draft() { return draft_; }
  const Draft& draft() const { return draft_; }

  // A subgraph's nodes, with `bound` as the values of its inputs; returns its outputs. Its names end with it.
  Result<std::vector<DraftId>> subgraph(const FileGraph& graph, std::span<const DraftId> bound);
  DraftId find(std::string_view name) const;
  void bind(std::string_view name, DraftId id);
  DraftId add(DraftValue value);
  // A tensor stored in the file, under its name.
  DraftId store(const Tensor& tensor, bool from_constant);
  // Declared sizes at the run's bindings; none where the rank is unknown.
  std::optional<Sizes> sizes_of(const ValueInfo& info);
  const ValueInfo* declared(std::string_view name) const;

  // The batch that the file froze and what it becomes; none when nothing is re-batched.
  std::optional<Size> frozen_batch() const { return frozen_batch_; }
  int64_t batch() const { return batch_; }

  // The tensors of a sequence, by the value that stands for it.
  std::vector<DraftId>& sequence(DraftId id) { return sequences_[id.index]; }
  const std::vector<DraftId>* find_sequence(DraftId id) const;

  // Whether the model owns this stored tensor (parameter or buffer), as far as names tell.
  bool owned(const DraftValue& value) const;
  bool listed_buffer(std::string_view name) const { return buffers_.contains(name); }

 private:
  friend class Call;
  Status add_inputs();
  Status add_outputs();
  void declare(const FileGraph& graph);
  Status lower_nodes(const std::vector<Node>& nodes);
  Status lower_node(const Node& node);
  Status unknown(Call& call);
  Result<Sizes> input_sizes(const ValueInfo& info, const InputBinding* binding, bool first);
  Size symbol(std::string_view param, int dim, const ValueInfo& info);
  void find_weights_among_inputs();

  const FileModel& model_;
  const Bindings& bindings_;
  Diagnostics& notes_;
  Draft draft_;
  tsl::robin_map<std::string_view, DraftId> names_;
  std::vector<std::pair<std::string_view, DraftId>> shadowed_;  // what to restore when a subgraph ends
  tsl::robin_map<std::string_view, Size> symbols_;
  tsl::robin_map<std::string_view, const ValueInfo*> declared_;
  std::vector<const ValueInfo*> weight_inputs_;  // inputs that are weights (exports without parameters)
  tsl::robin_set<std::string_view> listed_;      // names of parameters and buffers, when the exporter lists them
  tsl::robin_set<std::string_view> buffers_;
  tsl::robin_map<uint32_t, std::vector<DraftId>> sequences_;
  std::optional<Size> frozen_batch_;
  int64_t batch_ = 0;
  int depth_ = 0;
  int64_t opset_ = 0;
};

}  // namespace ullage::onnx
