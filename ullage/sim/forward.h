// Forward: runs the nodes of a graph through the eager machine, dropping each tensor after its last use as Python code
// does when it rebinds `x`; checkpointed regions run without keeping, and again in backward.
#pragma once

#include <vector>

#include "ullage/eager/machine.h"
#include "ullage/ir/graph.h"

namespace ullage {

// Nodes [first, last] of a graph, in execution order.
struct NodeRange {
  NodeId first;
  NodeId last;
};

class Forward {
 public:
  // `regions` are disjoint and in order; `graph` must outlive this.
  Forward(const Graph& graph, std::vector<NodeRange> regions);

  // Tensors by value: bind the inputs and the model's own before run(); outputs are there afterwards.
  eager::Tensor& operator[](ValueId value) { return values_[value.index]; }
  void run(eager::Machine& m);

 private:
  void run_nodes(eager::Machine& m, NodeRange range, std::vector<eager::Tensor>& values);
  void run_region(eager::Machine& m, NodeRange range);
  bool is_resident(ValueId value) const;

  const Graph& graph_;
  std::vector<NodeRange> regions_;
  std::vector<std::vector<ValueId>> dropped_after_;  // by node
  std::vector<eager::Tensor> values_;
};

}  // namespace ullage
