// append_loss: Graph → Graph whose first output is a scalar loss, with the targets it needs as further inputs.
//
//   before   y[32,1000] = … ;            outputs: y
//   after    y[32,1000] = … ; loss = cross_entropy_loss(y, target[32]:int64) ;   outputs: loss, y
#pragma once

#include "ullage/base/result.h"
#include "ullage/ir/graph.h"

namespace ullage {

enum class LossRule : uint8_t {
  automatic,  // cross entropy where the outputs look like class scores, else the sum of all outputs
  cross_entropy,
  mse,
  sum,
  output,  // the first output is the loss already
};

struct GraphWithLoss {
  Graph graph;
  ValueId loss;
  std::vector<ValueId> targets;  // also the last of graph.inputs
  std::string what;              // "cross_entropy of output", for people
};

// Outputs of the same shape as the first (auxiliary heads) get the same loss, scaled and added, as training scripts do.
Result<GraphWithLoss> append_loss(Graph graph, LossRule rule);

}  // namespace ullage
