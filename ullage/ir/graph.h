// Graph: one forward pass as the user's module would run it: ATen ops at the level at which a person writes them
// (linear, convolution, batch_norm, scaled_dot_product_attention), with concrete shapes. What eager mode does with each
// op (copies, casts, what autograd keeps, what backward allocates) is not here: that is `eager`. What the recipe
// changes is a pass, Graph → Graph.
//
//   values:  x:input[32,3,224,224]   w:parameter[64,3,7,7]   y:activation[32,64,112,112]
//   nodes:   convolution(x, w, none) {stride=[2,2], padding=[3,3], …} → y      in module "layer1.0.conv1"
//
// Nodes are in execution order (each value is defined before it is used); ids index flat tables; a graph is valid by
// construction (GraphBuilder::finish checks) and immutable afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tsl/robin_map.h>

#include "ullage/base/diagnostics.h"
#include "ullage/base/id.h"
#include "ullage/ir/dtype.h"
#include "ullage/ir/shape.h"

namespace ullage {

using ValueId = Id<struct ValueTag>;    // a tensor of the forward pass
using NodeId = Id<struct NodeTag>;      // an op of the forward pass
using ModuleId = Id<struct ModuleTag>;  // a place in the module hierarchy

inline constexpr int kMaxModuleDepth = 64;

enum class ValueKind : uint8_t {
  activation,  // made by a node
  input,       // the user's batch: on the device, no gradient
  parameter,   // trainable unless frozen
  buffer,      // resident, not trained: running statistics, masks, tables
  constant,    // a Python number or host tensor: no device bytes
};

struct Value {
  std::string name;
  DType dtype = DType::f32;
  ValueKind kind = ValueKind::activation;
  Shape shape;
  NodeId producer;  // none unless an activation

  Bytes bytes() const { return bytes_of(dtype, shape.numel()); }
};

// An argument that is not a tensor, under the name PyTorch gives it ("stride", "dim", "keepdim"); `key` has static
// lifetime.
struct Attr {
  std::string_view key;
  std::variant<int64_t, double, std::vector<int64_t>, std::string> value;
};

struct Node {
  std::string_view op;  // ATen name without namespace: "relu", in place "relu_"; see op_table.h. The row's own name,
                        // or owned by Graph::op_names
  std::string name;     // as in the file
  ModuleId module;
  std::vector<ValueId> inputs;   // in the order of the op's row; an absent optional input is the none id
  std::vector<ValueId> outputs;  // an output nobody asked for may be the none id
  std::vector<Attr> attrs;

  int64_t attr_int(std::string_view key, int64_t otherwise) const;
  double attr_float(std::string_view key, double otherwise) const;
  std::span<const int64_t> attr_ints(std::string_view key) const;  // empty when absent
  std::string_view attr_text(std::string_view key) const;
  bool has_attr(std::string_view key) const;
};

struct Module {
  std::string name;  // full path: "layer1.0.conv1"; the root is ""
  std::string type;  // "Bottleneck" when the file says so
  ModuleId parent;
};

struct Graph {
  std::string name;
  std::string format;  // "onnx"
  IdVector<ValueTag, Value> values;
  IdVector<NodeTag, Node> nodes;
  IdVector<ModuleTag, Module> modules;  // the first is the root
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<ValueId> parameters;  // in the order in which the model owns them (the optimizer's order)
  std::vector<ValueId> buffers;
  std::vector<std::shared_ptr<const std::string>> op_names;  // of ops in place or without a row; shared by copies
  int64_t batch = 0;                                         // what one sample's share is measured by; 0 when unknown
  std::vector<std::string> assumptions;                      // what the importer had to assume, for people

  int64_t parameter_count() const;
  Bytes parameter_bytes() const;
  Bytes buffer_bytes() const;
};

// The only way to make a Graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::string format);

  ValueId input(std::string name, DType dtype, Shape shape);
  ValueId parameter(std::string name, DType dtype, Shape shape);
  ValueId buffer(std::string name, DType dtype, Shape shape);
  ValueId constant(std::string name, DType dtype, Shape shape);
  // Declares what a following node makes.
  ValueId activation(std::string name, DType dtype, Shape shape);
  // Finds the module or makes it and its parents. What is deeper than kMaxModuleDepth goes to the module at that depth.
  ModuleId module(std::string_view path, std::string_view type = {});
  // The name of the op is copied, the keys of attrs are not.
  NodeId node(std::string_view op, std::string name, ModuleId module, std::vector<ValueId> inputs,
              std::vector<ValueId> outputs, std::vector<Attr> attrs = {});
  void output(ValueId value);
  const Value& value(ValueId id) const { return graph_.values[id]; }
  Graph& graph() { return graph_; }

  // Checks that every input is defined before use, each value has one producer, sizes are not negative, and nodes have
  // the inputs that their op's row asks for.
  Result<Graph> finish() &&;

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class T>
  using TextMap = tsl::robin_map<std::string, T, TextHash, std::equal_to<>>;

  ValueId add(std::string name, DType dtype, Shape shape, ValueKind kind);
  std::string_view keep_name(std::string_view op);

  Graph graph_;
  TextMap<ModuleId> modules_;             // by path
  TextMap<std::string_view> kept_names_;  // in graph_.op_names
  NodeId made_twice_;                     // a node that makes what another one made
};

}  // namespace ullage
