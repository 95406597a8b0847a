// Call: one node of the file while it is lowered: what a handler sees and everything it may do. A handler reads sizes,
// types, attributes and known contents, emits ATen steps, and names the outputs.
//
//   Status relu(Call& c) { return c.result("relu", {c.id(0)}, c.dtype(0), c.sizes(0)); }
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/result.h"
#include "ullage/importers/onnx/lower/draft.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

class Lowering;

// The type and sizes of something a step makes.
struct Made {
  DType dtype;
  Sizes sizes;
};

class Call {
 public:
  Call(Lowering& lowering, const Node& node, int opset);

  Lowering& lowering() { return lowering_; }
  const Node& node() const { return node_; }
  int opset() const { return opset_; }
  std::string label() const;  // "node_conv2d (Conv)": for messages

  // Inputs; an absent optional input is the none id. Index past the end reads as absent.
  size_t input_count() const { return inputs_.size(); }
  DraftId id(size_t i) const { return i < inputs_.size() ? inputs_[i] : DraftId{}; }
  bool has(size_t i) const { return static_cast<bool>(id(i)); }
  const DraftValue& value(size_t i) const;  // has(i)
  const DraftValue& value(DraftId id) const;
  const Sizes& sizes(size_t i) const { return value(i).sizes; }
  DType dtype(size_t i) const { return value(i).dtype; }
  int rank(size_t i) const { return value(i).sizes.rank(); }
  const Content* content(size_t i) const { return has(i) ? value(i).content.get() : nullptr; }
  std::span<const DraftId> inputs() const { return inputs_; }

  // A Python number: one element, known, and not a tensor that the model owns.
  std::optional<double> number(DraftId id) const;
  std::optional<double> number(size_t i) const { return has(i) ? number(id(i)) : std::nullopt; }
  // The number as an argument: an integer stays one.
  Attr number_attr(std::string_view key, DraftId id) const;

  // Attributes of the node.
  bool has_attr(std::string_view name) const;
  int64_t attr(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise = {}) const;
  std::vector<int64_t> ints(std::string_view name) const;

  // Integers that moved from an attribute to an input with some opset: the attribute if there, else the content of
  // input i. Empty optional: neither. An error if the input is there and its content is not known.
  Result<std::optional<std::vector<Size>>> ints_or_input(std::string_view name, size_t i) const;
  // The content of input i as sizes; an error (with the input's name) when it is not known.
  Result<std::vector<Size>> known(size_t i, std::string_view what) const;
  // Axis in [-rank, rank) to [0, rank); an error otherwise.
  Result<int> axis(int64_t axis, int rank) const;
  Result<std::vector<int64_t>> axes(std::span<const Size> axes, int rank) const;  // sorted, without repeats

  // Says what a stored tensor is taken for.
  void use(DraftId id, Use use);
  // A stored 2-D weight seen as [out, in] when the file has [in, out].
  DraftId flipped(DraftId weight);
  // What the exporter says the program called: "aten.linear.default"; empty when it says nothing.
  std::string_view aten() const;

  // Emits one ATen step and returns what it makes.
  DraftId step(std::string_view op, std::vector<DraftId> inputs, DType dtype, Sizes sizes,
               std::vector<Attr> attrs = {});
  std::vector<DraftId> steps(std::string_view op, std::vector<DraftId> inputs, std::span<const Made> outputs,
                             std::vector<Attr> attrs = {});
  // A value without a step: numbers known on the host.
  DraftId host(DType dtype, Sizes sizes, ContentPtr content);

  // Outputs.
  size_t output_count() const;
  bool wants(size_t k) const;  // the node names its k-th output
  void set(size_t k, DraftId id);
  Status result(std::string_view op, std::vector<DraftId> inputs, DType dtype, Sizes sizes,
                std::vector<Attr> attrs = {});
  // The sizes the file declares for output k, bound to the run's; none when it declares none.
  std::optional<Made> declared(size_t k) const;

  Result<Sizes> broadcast(const Sizes& a, const Sizes& b) const;
  // One of the constants of the file fixed the batch and was rewritten.
  void rebatched(std::string_view what);
  void note(std::string_view kind, std::string_view detail = {});

  tl::unexpected<Error> error(std::string message, std::string hint = {}) const;        // the file breaks ONNX's rules
  tl::unexpected<Error> unsupported(std::string message, std::string hint = {}) const;  // fine, but not ours to answer

 private:
  friend class Lowering;
  Lowering& lowering_;
  const Node& node_;
  int opset_;
  std::vector<DraftId> inputs_;
};

// One row of the operator table: from which version of its domain a handler reads a node.
struct OpRule {
  std::string_view domain;  // "" for ai.onnx
  std::string_view op;
  int since;  // the first opset this handler is for
  Status (*lower)(Call&);
};

// The families; registry.cpp joins them.
std::span<const OpRule> convolution_rules();
std::span<const OpRule> pooling_rules();
std::span<const OpRule> norm_rules();
std::span<const OpRule> pointwise_rules();
std::span<const OpRule> reduction_rules();
std::span<const OpRule> shape_rules();
std::span<const OpRule> slicing_rules();
std::span<const OpRule> creation_rules();
std::span<const OpRule> index_rules();
std::span<const OpRule> resize_rules();
std::span<const OpRule> matmul_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> control_flow_rules();
std::span<const OpRule> sequence_rules();
std::span<const OpRule> quantization_rules();
std::span<const OpRule> random_rules();
std::span<const OpRule> loss_rules();
std::span<const OpRule> signal_rules();
std::span<const OpRule> microsoft_rules();

// The handler for a node, or null: an unknown op.
const OpRule* find_rule(std::string_view domain, std::string_view op, int opset);

}  // namespace ullage::onnx
