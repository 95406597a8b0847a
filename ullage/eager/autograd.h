// Autograd: the nodes that forward rules record and the engine that runs them. Follows torch/csrc/autograd (2.15):
// engine.cpp, input_buffer.cpp, accumulate_grad.h.
//
//   forward:  y = relu(x)        records  GradNode{name "ReluBackward0", next [x's node], saved [y]}
//   backward: the ready node with the largest sequence number runs first; parameter accumulators before all others;
//             per node: formula → reduce/cast → release incoming gradient → release saved tensors → hand on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ullage/eager/tensor.h"

namespace ullage::eager {

class Backward;
struct CheckpointRegion;
using BackwardFn = std::function<void(Backward&)>;

// What a gradient for one input must look like: it is summed down to these sizes and cast to this dtype.
struct GradMeta {
  Shape sizes;
  DType dtype = DType::f32;
};

struct GradNode {
  int refs = 0;
  Machine* machine = nullptr;
  uint64_t sequence = 0;
  std::string_view name;          // PyTorch's: "MulBackward0"
  uint32_t owner = 0;             // graph node whose forward recorded it
  BackwardFn formula;             // empty for an accumulator
  std::vector<Edge> next;         // one per differentiable input, in the op's order
  std::vector<GradMeta> meta;     // of those inputs
  std::vector<GradMeta> outputs;  // of the forward outputs: what an undefined gradient would look like
  std::vector<Tensor> saved;
  TensorImpl* variable = nullptr;  // accumulator only: the parameter
  // A node of a checkpointed region has no saved tensors until the region is recomputed, just before its formula runs.
  std::shared_ptr<CheckpointRegion> region;
  size_t region_index = 0;

  // Engine's scratch, valid during one backward.
  std::vector<Tensor> buffer;
  int dependencies = 0;
  uint64_t visit = 0;
};
void release(GradNode* node);

// What a formula sees. grad(i): gradient of forward output i, may be undefined; set(i, g): gradient of differentiable
// input i.
class Backward {
 public:
  Backward(Machine& machine, GradNode& node, std::vector<Tensor>& grads)
      : m(machine), node_(node), grads_(grads), results_(node.next.size()) {}

  Machine& m;
  const Tensor& grad(size_t i = 0) const { return grads_[i]; }
  Tensor take_grad(size_t i = 0) { return std::move(grads_[i]); }
  const Tensor& saved(size_t i) const { return node_.saved[i]; }
  bool needs(size_t i) const { return static_cast<bool>(node_.next[i].node); }
  const GradMeta& input(size_t i) const { return node_.meta[i]; }
  const GradMeta& output(size_t i) const { return node_.outputs[i]; }
  void set(size_t i, Tensor grad) { results_[i] = std::move(grad); }
  std::vector<Tensor>& results() { return results_; }

 private:
  GradNode& node_;
  std::vector<Tensor>& grads_;
  std::vector<Tensor> results_;
};

struct BackwardOptions {
  bool keep_graph = false;
};

// loss.backward(): `root` is a scalar (or any tensor, with a gradient of ones like it), which must have a history.
void run_backward(Machine& m, const Tensor& root, BackwardOptions options = {});

}  // namespace ullage::eager
