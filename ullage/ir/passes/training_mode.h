// set_training: Graph → Graph, model.train() or model.eval(): batch norms use batch or running statistics, dropouts
// drop or do not.
//
//   before   batch_norm(x, …) {training=0}      set_training(graph, true)      after   batch_norm(x, …) {training=1}
#pragma once

#include "ullage/ir/graph.h"

namespace ullage {

// A dropout that the file has switched off has p = 0 or train = 0; in training it gets train = 1 and keeps its p.
Graph set_training(Graph graph, bool training);

}  // namespace ullage
