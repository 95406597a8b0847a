// Which stretches of a graph a checkpointing choice recomputes. Functions of a sequence are found where a single tensor
// crosses from one node to the next, which is where nn.Sequential has its boundaries; the head (from global pooling or
// the last flatten on) is left alone.
#pragma once

#include <vector>

#include "ullage/sim/forward.h"
#include "ullage/sim/recipe.h"

namespace ullage {

// Empty for CheckpointKind::none and outside training. segments=K cuts as torch.utils.checkpoint.checkpoint_sequential
// does: K-1 pieces of floor(n/K) functions are checkpointed, the rest runs plainly. sqrt chooses K = round(sqrt(n)).
std::vector<NodeRange> checkpoint_regions(const Graph& graph, const Recipe& recipe);

}  // namespace ullage
