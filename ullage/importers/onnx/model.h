// What an ONNX file says, as flat structs: nodes, attributes, declared shapes, where each tensor's payload lies. Names
// are views into the mapped file; payloads are not read, so opening a file of gigabytes touches a few pages.
//
//   UL_TRY(const FileModel model, read_model(source, notes));
//   for (const Node& node : model.graph.nodes) …          // local functions are already inlined
//   UL_TRY(const auto axes, read_ints(model, *tensor));   // a small tensor that a shape depends on
//
// Not a graph of tensors: names are not resolved, shapes not inferred (that is lower/).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ullage/base/diagnostics.h"
#include "ullage/base/result.h"
#include "ullage/base/source.h"
#include "ullage/ir/dtype.h"

namespace ullage::onnx {

using Metadata = std::vector<std::pair<std::string_view, std::string_view>>;
std::string_view find_metadata(const Metadata& metadata, std::string_view key);  // empty when absent

// ONNX's number of an element type (TensorProto.DataType); DType::unknown for numbers of the future.
DType dtype_of(int32_t data_type);

enum class Payload : uint8_t { none, inside, external };

struct Tensor {
  std::string_view name;
  DType dtype = DType::unknown;
  int32_t data_type = 0;  // the file's number
  bool sparse =
      false;  // dims are those of the dense tensor; the payload holds `stored_elements` values and their places
  Payload payload = Payload::none;
  std::vector<int64_t> dims;       // each >= 0
  int64_t stored_elements = 0;     // of a sparse tensor
  uint64_t stored_bytes = 0;       // of a payload inside: raw bytes, or of the typed field as encoded; external: length
  std::string_view external_file;  // as written, unchecked: see external.h
  uint64_t external_offset = 0;
  std::span<const std::byte> message;  // the TensorProto itself, unread
  uint64_t offset = 0;                 // of `message` in the file

  int64_t numel() const;  // saturates; 1 for a scalar
};

// A dimension: a number, a name ("batch", "2*s0"), or neither.
struct Dim {
  int64_t value = -1;  // < 0: not a number
  std::string_view param;

  bool known() const { return value >= 0; }
};

enum class TypeKind : uint8_t { none, tensor, sparse_tensor, sequence, map, optional, opaque };

struct ValueInfo {
  std::string_view name;
  TypeKind kind = TypeKind::none;  // dtype and dims are those of a tensor, or of the element of a sequence or optional
  DType dtype = DType::unknown;
  int32_t data_type = 0;
  bool has_shape = false;  // a declared shape of no dims is a scalar; no shape is an unknown rank
  std::vector<Dim> dims;
};

enum class AttributeType : uint8_t {
  undefined,
  real,
  integer,
  text,
  tensor,
  graph,
  reals,
  integers,
  texts,
  tensors,
  graphs,  // numbers are the file's
  sparse_tensor,
  sparse_tensors,
  type,
  types,
};

struct FileGraph;

struct Attribute {
  std::string_view name;
  std::string_view reference;  // ref_attr_name: inside functions only, gone after inlining
  AttributeType type = AttributeType::undefined;
  float real = 0;
  int64_t integer = 0;
  std::string_view text;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  std::vector<std::string_view> texts;
  std::vector<Tensor> tensors;    // of `tensor` and `sparse_tensor`: one
  std::vector<FileGraph> graphs;  // of `graph`: one
};

struct Node {
  std::string_view op;      // op_type: "Conv"
  std::string_view domain;  // "" for the standard operators, however the file spells it
  std::string_view overload;
  std::string_view name;
  std::string_view scope;                // where it was inlined: names of the calling nodes, joined by '/'
  std::vector<std::string_view> inputs;  // "" for an absent optional one
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;
  Metadata metadata;
  uint64_t offset = 0;  // of the NodeProto in the file

  const Attribute* find(std::string_view attribute) const;  // null when absent
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  float real(std::string_view attribute, float otherwise) const;
  std::string_view text(std::string_view attribute, std::string_view otherwise = {}) const;
  std::span<const int64_t> integers(std::string_view attribute) const;  // empty when absent
  std::span<const float> reals(std::string_view attribute) const;
  const Tensor* tensor(std::string_view attribute) const;
  const FileGraph* graph(std::string_view attribute) const;
  // "node '/layer1/conv1/Conv' (Conv)", for errors and diagnostics.
  std::string place() const;
};

struct FileGraph {
  std::string_view name;
  std::vector<Node> nodes;           // in the order of the file: sorted, or so the format demands
  std::vector<Tensor> initializers;  // sparse ones are at the end
  std::vector<ValueInfo> inputs;     // IR 3 lists initializers here too
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_info;
  Metadata metadata;
};

struct Opset {
  std::string_view domain;  // "" for the standard operators
  int64_t version = 0;
};

struct Function {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;  // names without a default
  std::vector<Attribute> defaults;           // attributes with one
  std::vector<Node> nodes;
  std::vector<Opset> opsets;
};

struct FileModel {
  SharedSource source;  // all views point into it
  int64_t ir_version = 0;
  std::string_view producer;
  std::string_view producer_version;
  std::string_view domain;
  int64_t version = 0;
  std::vector<Opset> opsets;  // one a domain
  Metadata metadata;
  FileGraph graph;
  std::vector<Function> functions;     // as in the file; their calls in `graph` are inlined
  int64_t training_graphs = 0;         // training_info entries, which we do not read
  std::deque<std::string> made_names;  // storage of the names that inlining made

  int64_t opset(std::string_view operator_domain = {}) const;  // 0 when not imported
};

// The newest standard operator set whose changes we know; newer files are read as of this one, with a diagnostic.
inline constexpr int64_t kNewestOpset = 25;

// Reads the structure, inlines local functions, checks what needs no shapes. An error names byte, field and node.
Result<FileModel> read_model(SharedSource source, Diagnostics& notes);

// How many elements read_ints and read_reals will follow.
inline constexpr int64_t kMaxNumbers = 65536;

// The elements of a small tensor, row-major: integers and bools / floating point (and integers) as numbers. An error
// when there is no payload, it is too long or too short for dims, or of another type. An external payload is read from
// its file if that is safe.
Result<std::vector<int64_t>> read_ints(const FileModel& model, const Tensor& tensor);
Result<std::vector<double>> read_reals(const FileModel& model, const Tensor& tensor);

}  // namespace ullage::onnx
