// Draft: the graph while it is being made: ATen nodes over values that still know what they were in the file. Handlers
// append to it, rewrites (collapse, fuse) edit it, emit() turns what is needed of it into a Graph.
//
//   host value    numbers that Python holds: shapes, axes, scalars          no device bytes, no node
//   stored value  a tensor of the file: becomes parameter, buffer or constant when somebody reads it
//   input value   the user's batch
//   made value    what a node makes
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/id.h"
#include "ullage/importers/onnx/lower/content.h"
#include "ullage/importers/onnx/lower/size.h"
#include "ullage/ir/dtype.h"
#include "ullage/ir/graph.h"

namespace ullage::onnx {

struct Node;
struct Tensor;

using DraftId = Id<struct DraftValueTag>;
using StepId = Id<struct DraftNodeTag>;

enum class Home : uint8_t { host, stored, input, made };
// What operators take a stored tensor for, as far as their inputs tell.
enum class Use : uint8_t { unknown, weight, statistic };

struct DraftValue {
  std::string_view name;  // in the file; empty for what a handler made in between
  DType dtype = DType::f32;
  Home home = Home::made;
  Use use = Use::unknown;
  Sizes sizes;
  ContentPtr content;  // null when not known
  StepId producer;     // of a made value
  const Tensor* stored = nullptr;
  DraftId flipped_from;        // a weight that the file stores as [in, out] and the module as [out, in]
  bool from_constant = false;  // stored in a Constant node rather than as an initializer
};

struct DraftNode {
  std::string_view op;           // ATen name; static lifetime or the file's (unknown op)
  const Node* source = nullptr;  // the node of the file it came from
  std::string_view group;        // nodes of one ATen call share it (metadata ullage.node); empty: alone
  std::string_view aten;         // "aten.relu_.default" when the exporter said so
  std::string_view module;       // dotted path; may be empty
  std::vector<DraftId> inputs;
  std::vector<DraftId> outputs;
  std::vector<Attr> attrs;
  bool dropped = false;
};

struct Draft {
  IdVector<DraftValueTag, DraftValue> values;
  IdVector<DraftNodeTag, DraftNode> nodes;  // in execution order
  std::vector<DraftId> inputs;
  std::vector<DraftId> outputs;
};

}  // namespace ullage::onnx
