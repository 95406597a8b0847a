#include "ullage/eager/autograd.h"

#include <algorithm>

#include "ullage/eager/aten.h"
#include "ullage/eager/machine.h"

namespace ullage::eager {
namespace {

// The ready nodes, largest sequence number on top.
class ReadyQueue {
 public:
  void push(GradNodePtr node) {
    heap_.push_back(std::move(node));
    std::ranges::push_heap(heap_, {}, &sequence);
  }
  GradNodePtr pop() {
    std::ranges::pop_heap(heap_, {}, &sequence);
    GradNodePtr node = std::move(heap_.back());
    heap_.pop_back();
    return node;
  }
  bool empty() const { return heap_.empty(); }

 private:
  static uint64_t sequence(const GradNodePtr& node) { return node->sequence; }
  std::vector<GradNodePtr> heap_;
};

// Counts, for every node reachable from root, how many nodes will hand it a gradient.
void count_dependencies(GradNode& root, uint64_t visit) {
  std::vector<GradNode*> todo{&root};
  root.visit = visit;
  root.dependencies = 0;
  while (!todo.empty()) {
    GradNode* node = todo.back();
    todo.pop_back();
    for (const Edge& edge : node->next) {
      GradNode* next = edge.node.get();
      if (!next) continue;
      if (next->visit != visit) {
        next->visit = visit;
        next->dependencies = 0;
        todo.push_back(next);
      }
      ++next->dependencies;
    }
  }
}

// InputBuffer::accumulate: in place when nobody else can see the stored gradient, else a third tensor.
void accumulate(Machine& m, Tensor& stored, Tensor incoming) {
  if (!stored) {
    stored = std::move(incoming);
    return;
  }
  const bool in_place = stored.is_non_overlapping_and_dense() && stored.use_count() == 1 && stored.storage()->refs == 1;
  if (!in_place) stored = add(m, stored, incoming);
}

// accumulateGrad: steal the tensor when it is nobody else's and laid out like the parameter, else clone; add in place
// later.
void accumulate_grad(Machine& m, TensorImpl& variable, Tensor grad) {
  if (variable.grad) return;
  const auto same_layout = [&] {
    if (!is_non_overlapping_and_dense(variable.sizes, variable.strides)) return grad.is_contiguous();
    for (int d = 0; d < grad.rank(); ++d) {
      if (grad.size(d) != 1 && grad.strides()[d] != variable.strides[d]) return false;
    }
    return true;
  };
  Tensor kept;
  if (grad.use_count() <= 1 && same_layout()) {
    kept = m.detach(grad);
  } else {
    kept = m.empty_strided(variable.sizes, variable.strides, variable.dtype);
  }
  m.set_category(kept, Category::gradients);
  variable.grad = Counted<TensorImpl>(kept.impl());
}

std::vector<Tensor> run_node(Machine& m, GradNode& node) {
  std::vector<Tensor> grads = std::move(node.buffer);
  node.buffer.clear();
  if (node.variable) {
    if (grads[0]) accumulate_grad(m, *node.variable, std::move(grads[0]));
    return {};
  }
  if (node.region && !node.region->done) {
    node.region->done = true;
    node.region->recompute();
  }
  std::vector<Tensor> results;
  {
    Backward call(m, node, grads);
    node.formula(call);
    results = std::move(call.results());
  }
  // validate_outputs: sizes and dtype of what it is the gradient of; the incoming gradient is still held.
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !node.next[i].node) continue;
    results[i] = sum_to_size(m, results[i], node.meta[i].sizes);
    results[i] = to_dtype(m, results[i], node.meta[i].dtype);
  }
  return results;
}

}  // namespace

void run_backward(Machine& m, const Tensor& root, BackwardOptions options) {
  check(root.requires_grad() && root.impl()->history.node, "backward of a tensor without history");
  NoGrad off(m);
  const Tensor root_grad = m.empty_like(root);  // held by the caller to the end
  GradNodePtr start = root.impl()->history.node;
  const uint64_t visit = m.next_visit();
  count_dependencies(*start, visit);
  start->buffer.assign(start->outputs.size(), {});
  start->buffer[static_cast<size_t>(root.impl()->history.slot)] = root_grad;
  ReadyQueue ready;
  ready.push(std::move(start));
  while (!ready.empty()) {
    const GradNodePtr node = ready.pop();
    const bool any = std::ranges::any_of(node->buffer, &Tensor::defined);
    Owner owner(m, node->owner);
    std::vector<Tensor> results;
    if (any) results = run_node(m, *node);
    node->buffer.clear();
    if (!options.keep_graph) {
      node->saved.clear();
      if (node->region) node->region->nodes[node->region_index] = nullptr;
      node->region.reset();
    }
    for (size_t i = 0; i < node->next.size(); ++i) {
      GradNode* next = node->next[i].node.get();
      if (!next) continue;
      if (next->buffer.empty()) next->buffer.resize(next->outputs.size());
      if (i < results.size() && results[i]) {
        accumulate(m, next->buffer[static_cast<size_t>(node->next[i].slot)], std::move(results[i]));
      }
      if (--next->dependencies == 0) ready.push(node->next[i].node);
    }
  }
}

}  // namespace ullage::eager
