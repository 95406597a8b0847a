#include "ullage/eager/machine.h"

#include <algorithm>

#include "ullage/eager/aten.h"

namespace ullage::eager {

void release(Storage* storage) {
  Machine& m = *storage->machine;
  if (storage->block && !m.closed_) m.program_.free(storage->block);
  delete storage;
}

void release(TensorImpl* impl) { delete impl; }

// Nodes point at earlier nodes; deleting one may release the next. A list instead of recursion keeps the stack flat.
void release(GradNode* node) {
  Machine& m = *node->machine;
  m.dying_.push_back(node);
  if (m.deleting_) return;
  m.deleting_ = true;
  while (!m.dying_.empty()) {
    GradNode* next = m.dying_.back();
    m.dying_.pop_back();
    if (next->region) next->region->nodes[next->region_index] = nullptr;
    delete next;
  }
  m.deleting_ = false;
}

Machine::Machine(StepProgram& program, MachineOptions options) : program_(program), options_(options) {}

// Casts may own gradient nodes, and those die through dying_: they go while it is there.
Machine::~Machine() { cast_cache_.clear(); }

Counted<Storage> Machine::allocate(Bytes bytes, Category category) {
  auto storage = Counted<Storage>(new Storage);
  storage->machine = this;
  storage->bytes = bytes;
  if (bytes.value > 0) {
    storage->block = program_.alloc(bytes, {.category = category, .node = owner_, .phase = phase_, .step = step_});
  }
  return storage;
}

Tensor Machine::make(const Shape& sizes, const Strides& strides, DType dtype, Counted<Storage> storage) {
  Tensor t(new TensorImpl);
  t.impl()->dtype = dtype;
  t.impl()->sizes = sizes;
  t.impl()->strides = strides;
  t.impl()->storage = std::move(storage);
  return t;
}

Tensor Machine::empty_strided(const Shape& sizes, const Strides& strides, DType dtype, Category category) {
  return make(sizes, strides, dtype, allocate(bytes_of(dtype, storage_elements(sizes, strides)), category));
}

Tensor Machine::empty(const Shape& sizes, DType dtype, Category category) {
  return empty_strided(sizes, contiguous_strides(sizes), dtype, category);
}

Tensor Machine::empty_like(const Tensor& like, std::optional<DType> dtype, Category category) {
  const Strides strides =
      like.is_non_overlapping_and_dense() ? like.strides() : dense_strides(like.sizes(), like.strides());
  return empty_strided(like.sizes(), strides, dtype.value_or(like.dtype()), category);
}

Tensor Machine::workspace(Bytes bytes) {
  NodeStats& node = stats(owner_);
  node.workspace = std::max(node.workspace, bytes);
  return empty({bytes.value}, DType::u8, Category::workspace);
}

Tensor Machine::view_of(const Tensor& base, const Shape& sizes, const Strides& strides) {
  Tensor view = make(sizes, strides, base.dtype(), Counted<Storage>(base.storage()));
  view.impl()->on_host = base.on_host();
  return view;
}

Tensor Machine::host_scalar(DType dtype) {
  Tensor t = make({}, {}, dtype, allocate(Bytes(0), Category::other));
  t.impl()->on_host = true;
  return t;
}

Tensor Machine::parameter(const Shape& sizes, DType dtype, bool trainable) {
  Tensor t = empty(sizes, dtype, Category::parameters);
  t.impl()->is_parameter = true;
  t.impl()->requires_grad = trainable && is_differentiable(dtype);
  return t;
}

void Machine::set_category(const Tensor& t, Category category) {
  if (t.storage()->block) program_.set_category(t.storage()->block, category);
}

bool Machine::records(std::initializer_list<const Tensor*> inputs) const {
  return grad_enabled_ && std::ranges::any_of(inputs, [](const Tensor* t) { return t->requires_grad(); });
}

Edge Machine::edge_of(const Tensor& t) {
  if (!t.requires_grad()) return {};
  Edge& history = t.impl()->history;
  if (!history.node && t.is_parameter()) {
    // AccumulateGrad: the largest sequence number there is, so it runs as soon as its gradient exists.
    history.node = GradNodePtr(new GradNode);
    history.node->machine = this;
    history.node->sequence = ~uint64_t{0};
    history.node->name = "AccumulateGrad";
    history.node->owner = owner_;
    history.node->variable = t.impl();
    history.node->outputs = {{t.sizes(), t.dtype()}};
  }
  return history;
}

void Machine::keep(const Tensor& t) {
  Storage& storage = *t.storage();
  if (storage.saved || !storage.block) return;
  storage.saved = true;
  if (program_.block(storage.block).category != Category::temporaries) return;
  program_.set_category(storage.block, Category::activations);
  if (phase_ == Phase::forward) stats(owner_).saved += storage.bytes;
}

void Machine::record(std::string_view name, std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs,
                     std::initializer_list<Tensor> saved, BackwardFn formula) {
  record(name, std::span<const Tensor>(inputs.begin(), inputs.size()),
         std::span<const Tensor>(outputs.begin(), outputs.size()), std::vector<Tensor>(saved), std::move(formula));
}

void Machine::record(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::vector<Tensor> saved, BackwardFn formula) {
  if (!grad_enabled_ || std::ranges::none_of(inputs, [](const Tensor& t) { return t.requires_grad(); })) return;
  // A saved output is kept without its history, as SavedVariable does, so that a node does not own itself.
  for (Tensor& kept : saved) {
    if (kept.defined() && std::ranges::any_of(outputs, [&](const Tensor& out) { return out.same(kept); }))
      kept = detach(kept);
  }
  if (recomputing_) {
    GradNode* node = recompute_finished() ? nullptr : recomputing_->nodes[recomputing_->filled++];
    if (node) {
      for (const Tensor& kept : saved) {
        if (kept.defined()) keep(kept);
      }
      node->saved = std::move(saved);
    }
    for (const Tensor& out : outputs) out.impl()->requires_grad = is_differentiable(out.dtype());
    return;
  }
  GradNodePtr node(new GradNode);
  node->machine = this;
  node->sequence = sequence_++;
  node->name = name;
  node->owner = owner_;
  node->formula = std::move(formula);
  node->next.reserve(inputs.size());
  node->meta.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    node->next.push_back(input.defined() ? edge_of(input) : Edge{});
    node->meta.push_back(input.defined() ? GradMeta{input.sizes(), input.dtype()} : GradMeta{});
  }
  if (region_) {
    node->region = region_;
    node->region_index = region_->nodes.size();
    region_->nodes.push_back(node.get());
  } else {
    for (const Tensor& kept : saved) {
      if (kept.defined()) keep(kept);
    }
    node->saved = std::move(saved);
  }
  node->outputs.reserve(outputs.size());
  int slot = 0;
  for (const Tensor& out : outputs) {
    node->outputs.push_back({out.sizes(), out.dtype()});
    if (is_differentiable(out.dtype())) {
      out.impl()->requires_grad = true;
      out.impl()->history = {node, slot};
    }
    ++slot;
  }
}

void Machine::exit_autocast() {
  autocast_active_ = false;
  cast_cache_.clear();
}

Tensor Machine::autocast_lower(const Tensor& x) {
  if (!x.defined() || x.on_host() || !is_floating(x.dtype()) || x.dtype() == DType::f64 ||
      x.dtype() == *options_.autocast)
    return x;
  // Only fp32 leaves that train are cached (autocast_mode.cpp, cached_cast), under no_grad too.
  const bool cached = x.dtype() == DType::f32 && x.is_parameter() && x.requires_grad();
  if (cached) {
    for (const auto& [weight, copy] : cast_cache_) {
      if (weight == x.impl()) return copy;
    }
  }
  Tensor copy = to_dtype(*this, x, *options_.autocast);
  if (cached) cast_cache_.emplace_back(x.impl(), copy);
  return copy;
}

Tensor Machine::autocast_fp32(const Tensor& x) {
  const bool half = x.defined() && (x.dtype() == DType::f16 || x.dtype() == DType::bf16);
  return half && !x.on_host() ? to_dtype(*this, x, DType::f32) : x;
}

void Machine::begin_recompute(CheckpointRegion* region) {
  recomputing_ = region;
  region->filled = 0;
}

void Machine::count_flops(int64_t flops) {
  NodeStats& node = stats(owner_);
  int64_t& count = recomputing_                ? node.recompute_flops
                   : phase_ == Phase::backward ? node.backward_flops
                                               : node.forward_flops;
  count = saturating_add(count, flops);
}

NodeStats& Machine::stats(uint32_t node) {
  if (node >= stats_.size()) stats_.resize(node + 1);
  return stats_[node];
}

}  // namespace ullage::eager
