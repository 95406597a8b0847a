// set_inplace: Graph → Graph, the choice of nn.ReLU(inplace=…) for every activation at once.
//
//   before   r = relu(c);  d = convolution(r, w)     set_inplace(graph, true)     after   r = relu_(c);  d =
//   convolution(r, w)
//
// `on` is applied only where autograd allows it: the input has no other reader and its producer does not need its own
// result.
#pragma once

#include "ullage/ir/graph.h"

namespace ullage {

Graph set_inplace(Graph graph, bool on);

}  // namespace ullage
