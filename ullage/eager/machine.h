// Machine: PyTorch's eager mode with the arithmetic left out. Rules call it as kernels call ATen: make tensors, record
// autograd nodes, count FLOPs. What comes out is a StepProgram: every allocation and free, in eager order, labelled.
//
//   Machine m(program, options);
//   Tensor y = m.empty_like(x);
//   m.record("ReluBackward0", {x}, {y}, {y}, [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
//
// It knows no ops (rules.h), no optimizer and no loop (sim/), and no allocator.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "ullage/base/diagnostics.h"
#include "ullage/eager/autograd.h"
#include "ullage/eager/tensor.h"
#include "ullage/timeline/program.h"

namespace ullage::eager {

class WorkspaceOracle;

struct MachineOptions {
  std::optional<DType> autocast;  // f16 or bf16 inside torch.autocast("cuda")
  bool allow_tf32 = true;  // torch.backends.cudnn.allow_tf32, on by default; matmul.allow_tf32 does not change bytes
  bool cudnn = true;       // torch.backends.cudnn.enabled
  bool channels_last = false;   // model and input were moved to torch.channels_last
  int compute_capability = 80;  // 10 * major + minor of the card
  int sm_count = 108;
  bool keep_blas_workspace =
      false;  // before 2.15 a (handle, stream) kept its cuBLAS workspace; 2.15 returns it after each call
  const WorkspaceOracle* workspace = nullptr;  // null: workspaces are 0
};

// What happened on behalf of one graph node.
struct NodeStats {
  int64_t forward_flops = 0;  // a multiply-add is 2
  int64_t backward_flops = 0;
  int64_t recompute_flops = 0;
  Bytes saved;      // storages first kept by this node's autograd record, not counting what was resident anyway
  Bytes output;     // requested by its outputs
  Bytes workspace;  // largest at one time
};

// A stretch of forward whose saved tensors are dropped and made again in backward (torch.utils.checkpoint,
// non-reentrant). Owned by its nodes together; what it keeps alive (the region's inputs) goes with the last of them.
struct CheckpointRegion {
  std::vector<GradNode*> nodes;     // recorded in forward, in order; null once the node is gone
  std::vector<Tensor> inputs;       // kept for the recomputation
  std::function<void()> recompute;  // runs the forward of the region again, recording into the same nodes
  size_t filled = 0;                // how many nodes the recomputation has reached
  bool done = false;
};

class Machine {
 public:
  Machine(StepProgram& program, MachineOptions options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Writes no further events: what lives at the end of a run is alive at its end, whatever destructors do afterwards.
  void close() { closed_ = true; }

  const MachineOptions& options() const { return options_; }
  StepProgram& program() { return program_; }
  Diagnostics& notes() { return notes_; }

  // ---- tensors ----
  Tensor empty(const Shape& sizes, DType dtype, Category category = Category::temporaries);
  Tensor empty_strided(const Shape& sizes, const Strides& strides, DType dtype,
                       Category category = Category::temporaries);
  // Keeps the strides of a dense tensor (torch.preserve_format), otherwise contiguous.
  Tensor empty_like(const Tensor& like, std::optional<DType> dtype = {}, Category category = Category::temporaries);
  // Raw device memory for the duration of a handle.
  Tensor workspace(Bytes bytes);
  // Shares the storage; no history.
  Tensor view_of(const Tensor& base, const Shape& sizes, const Strides& strides);
  Tensor detach(const Tensor& t) { return view_of(t, t.sizes(), t.strides()); }
  // A Python number or CPU tensor: no device bytes.
  Tensor host_scalar(DType dtype);
  // A leaf that trains when `trainable`; its gradient accumulates.
  Tensor parameter(const Shape& sizes, DType dtype, bool trainable);
  void set_category(const Tensor& t, Category category);

  // ---- autograd ----
  bool grad_enabled() const { return grad_enabled_; }
  void set_grad_enabled(bool on) { grad_enabled_ = on; }
  bool records(std::initializer_list<const Tensor*> inputs) const;
  // Records one node when grad mode is on and one of `inputs` (the op's differentiable inputs, in its order; undefined
  // allowed) requires grad. `saved` is what backward keeps: trim it by needs_grad() as autograd's guards do. Sets the
  // outputs' history.
  void record(std::string_view name, std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs,
              std::initializer_list<Tensor> saved, BackwardFn formula);
  void record(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
              std::vector<Tensor> saved, BackwardFn formula);

  // ---- autocast ----
  std::optional<DType> autocast() const { return autocast_active_ ? options_.autocast : std::nullopt; }
  void enter_autocast() { autocast_active_ = options_.autocast.has_value(); }
  void exit_autocast();  // drops the weight cache
  // x cast for the lower-precision list: fp32 parameters through the cache, everything else anew.
  Tensor autocast_lower(const Tensor& x);
  Tensor autocast_fp32(const Tensor& x);

  // ---- checkpointing ----
  void begin_region(std::shared_ptr<CheckpointRegion> region) { region_ = std::move(region); }
  void end_region() { region_.reset(); }
  // While a region is recomputed, record() refills its nodes instead of making new ones.
  void begin_recompute(CheckpointRegion* region);
  void end_recompute() { recomputing_ = nullptr; }
  // Early stop: nothing of the region that is still needed remains to be made.
  bool recompute_finished() const { return recomputing_ && recomputing_->filled == recomputing_->nodes.size(); }
  bool recomputing() const { return recomputing_ != nullptr; }

  // ---- labels and counts ----
  void set_owner(uint32_t node) { owner_ = node; }
  uint32_t owner() const { return owner_; }
  void set_phase(Phase phase, uint16_t step) { phase_ = phase, step_ = step; }
  Phase phase() const { return phase_; }
  uint16_t step() const { return step_; }
  void count_flops(int64_t flops);
  uint64_t next_visit() { return ++visit_; }  // a fresh stamp for one walk over the autograd graph
  NodeStats& stats(uint32_t node);
  const std::vector<NodeStats>& all_stats() const { return stats_; }

 private:
  friend void release(Storage* storage);
  friend void release(GradNode* node);
  Tensor make(const Shape& sizes, const Strides& strides, DType dtype, Counted<Storage> storage);
  Counted<Storage> allocate(Bytes bytes, Category category);
  Edge edge_of(const Tensor& t);
  void keep(const Tensor& t);  // marks a storage as saved for backward

  StepProgram& program_;
  MachineOptions options_;
  Diagnostics notes_;
  bool grad_enabled_ = true;
  bool autocast_active_ = false;
  std::vector<std::pair<TensorImpl*, Tensor>> cast_cache_;
  uint64_t sequence_ = 0;
  uint64_t visit_ = 0;
  uint32_t owner_ = 0;
  Phase phase_ = Phase::setup;
  uint16_t step_ = 0;
  std::vector<NodeStats> stats_;
  std::shared_ptr<CheckpointRegion> region_;
  CheckpointRegion* recomputing_ = nullptr;
  std::vector<GradNode*> dying_;  // nodes to delete, one at a time: a graph may be 100,000 deep
  bool deleting_ = false;
  bool closed_ = false;
};

// Turns recording off for a scope (torch.no_grad).
class NoGrad {
 public:
  explicit NoGrad(Machine& m) : m_(m), before_(m.grad_enabled()) { m.set_grad_enabled(false); }
  ~NoGrad() { m_.set_grad_enabled(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Machine& m_;
  bool before_;
};

// Labels what happens in a scope with a graph node.
class Owner {
 public:
  Owner(Machine& m, uint32_t node) : m_(m), before_(m.owner()) { m.set_owner(node); }
  ~Owner() { m_.set_owner(before_); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

 private:
  Machine& m_;
  uint32_t before_;
};

}  // namespace ullage::eager
