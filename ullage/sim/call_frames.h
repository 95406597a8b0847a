// Call frames: how long a module call holds the tensors that it was called with.
//
//   x = self.block(x)       // while block runs, its caller still has the old x, and so has nn.Module.__call__ (*args)
//
// Without autograd this is what keeps a tensor alive past its last use by an op. Locals of a forward() that were not
// arguments of a call cannot be told from a graph: they are taken to end with their last use.
#pragma once

#include <vector>

#include "ullage/ir/graph.h"

namespace ullage {

// By value index: the last node during which the value is held, either by an op that reads it or by a module call that
// got it as an argument. Empty for a value that no node touches.
std::vector<NodeId> held_until(const Graph& graph);

}  // namespace ullage
