// Brings the nodes of a graph and of its subgraphs into an order in which each tensor is made before it is used. The
// format demands it and nearly all files have it; those that do not are put right, and cycles are refused.
#pragma once

#include "ullage/base/result.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

// An error, with nodes named, for cycles and for tensors that two nodes make.
Status sort_nodes(FileGraph& graph);

}  // namespace ullage::onnx
