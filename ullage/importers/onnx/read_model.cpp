// Decodes the protobuf messages of an ONNX file into the structs of model.h. Field numbers are those of onnx.proto.
#include <algorithm>

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "ullage/base/reader.h"
#include "ullage/formats/protobuf.h"
#include "ullage/importers/onnx/external.h"
#include "ullage/importers/onnx/inline_functions.h"
#include "ullage/importers/onnx/model.h"
#include "ullage/importers/onnx/sort_nodes.h"
#include "ullage/ir/shape.h"

namespace ullage::onnx {
namespace {

using protobuf::Field;
using protobuf::Message;
using protobuf::WireType;

// What the structs of one file may take: a node of two bytes in the file takes hundreds here. The largest real graphs
// (100,000 nodes) take a tenth of this.
constexpr int64_t kStructureLimit = int64_t{512} << 20;
// Longer lists (the trees of a random forest) are left empty: no shape depends on them.
constexpr size_t kMaxList = size_t{1} << 20;

std::string_view standard(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

// Reads messages into structs and keeps account of what they take.
class Reader {
 public:
  explicit Reader(Diagnostics& notes) : notes_(notes) {}

  Status read(Message message, FileModel& model);

 private:
  template <class T>
  Status spend(const Field& field, const T&) {
    budget_ -= static_cast<int64_t>(sizeof(T));
    if (budget_ >= 0) return {};
    return fail(ErrorCode::limit,
                fmt::format("the structure of this file takes more than {}", format_bytes(Bytes(kStructureLimit))),
                byte_place(field.offset), "a file whose nodes, not weights, take this much is most likely damaged");
  }
  // Appends what `read_one` makes of the message in `field`.
  template <class T, class Read>
  Status append(const Field& field, std::vector<T>& list, Read read_one) {
    list.emplace_back();
    UL_TRY_STATUS(spend(field, list.back()));
    return field.nested([&](Message inner) { return read_one(inner, list.back()); });
  }
  Status append_text(const Field& field, std::vector<std::string_view>& list) {
    list.emplace_back();
    UL_TRY_STATUS(spend(field, list.back()));
    return field.read(list.back());
  }
  template <class T>
  Status append_numbers(const Field& field, std::vector<T>& list) {
    if (list.size() + field.payload.size() > kMaxList) return {};
    const size_t before = list.size();
    UL_TRY_STATUS(field.read(list));
    budget_ -= static_cast<int64_t>((list.size() - before) * sizeof(T));
    return {};
  }

  Status read_graph(Message message, FileGraph& graph);
  Status read_node(Message message, Node& node);
  Status read_attribute(Message message, Attribute& attribute);
  Status read_tensor(Message message, Tensor& tensor);
  Status read_sparse_tensor(Message message, Tensor& tensor);
  Status read_external(Message message, Tensor& tensor);
  Status read_dims(const Field& field, std::vector<int64_t>& dims);
  Status read_value_info(Message message, ValueInfo& info);
  Status read_type(Message message, ValueInfo& info, bool outermost);
  Status read_tensor_type(Message message, ValueInfo& info);
  Status read_dim(Message message, Dim& dim);
  Status read_function(Message message, Function& function);
  Status read_opset(Message message, Opset& opset);
  Status read_metadata(const Field& field, Metadata& metadata);
  void check_payload(const Tensor& tensor, bool raw);
  void merge_opsets(std::vector<Opset>& opsets);

  Diagnostics& notes_;
  int64_t budget_ = kStructureLimit;
};

Status Reader::read(Message message, FileModel& model) {
  bool has_graph = false;
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    switch (field.number) {
      case 1:
        return field.read(model.ir_version);
      case 2:
        return field.read(model.producer);
      case 3:
        return field.read(model.producer_version);
      case 4:
        return field.read(model.domain);
      case 5:
        return field.read(model.version);
      case 7:
        has_graph = true;
        return field.nested([&](Message inner) { return read_graph(inner, model.graph); });
      case 8:
        return append(field, model.opsets, [&](Message inner, Opset& opset) { return read_opset(inner, opset); });
      case 14:
        return read_metadata(field, model.metadata);
      case 20:
        ++model.training_graphs;
        return {};
      case 25:
        return append(field, model.functions, [&](Message inner, Function& f) { return read_function(inner, f); });
      default:
        return {};
    }
  }));
  if (!has_graph) {
    return fail(ErrorCode::format, "there is no graph in this file (ModelProto field 7)", byte_place(message.offset()),
                "it is no ONNX model, or it was cut off before its graph");
  }
  merge_opsets(model.opsets);
  if (model.opsets.empty() && model.ir_version < 3) model.opsets.push_back({"", 1});  // before imports existed
  if (model.opset() > kNewestOpset) {
    notes_.add("unsupported_opset", fmt::format("opset {}; the newest known is {}", model.opset(), kNewestOpset));
  }
  return {};
}

Status Reader::read_graph(Message message, FileGraph& graph) {
  std::vector<Tensor> sparse;
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    const auto tensor = [&](Message inner, Tensor& out) { return read_tensor(inner, out); };
    const auto value_info = [&](Message inner, ValueInfo& out) { return read_value_info(inner, out); };
    switch (field.number) {
      case 1: {
        const auto node = [&](Message inner, Node& out) { return read_node(inner, out); };
        if (auto read = append(field, graph.nodes, node); !read) {
          // The name is known if it came before what is wrong.
          return tl::unexpected(std::move(read).error().at(
              fmt::format("node {}{}{}", graph.nodes.size() - 1, graph.nodes.back().op.empty() ? "" : ": ",
                          graph.nodes.back().op.empty() ? "" : graph.nodes.back().place())));
        }
        return {};
      }
      case 2:
        return field.read(graph.name);
      case 5:
        return append(field, graph.initializers, tensor);
      case 11:
        return append(field, graph.inputs, value_info);
      case 12:
        return append(field, graph.outputs, value_info);
      case 13:
        return append(field, graph.value_info, value_info);
      case 15:
        return append(field, sparse, [&](Message inner, Tensor& out) { return read_sparse_tensor(inner, out); });
      case 16:
        return read_metadata(field, graph.metadata);
      default:
        return {};
    }
  }));
  std::ranges::move(sparse, std::back_inserter(graph.initializers));
  tsl::robin_set<std::string_view> seen;
  seen.reserve(graph.initializers.size());
  std::erase_if(graph.initializers, [&](const Tensor& tensor) {
    if (seen.insert(tensor.name).second) return false;
    notes_.add("duplicate_name", fmt::format("initializer '{}'", tensor.name));
    return true;
  });
  return {};
}

Status Reader::read_node(Message message, Node& node) {
  node.offset = message.offset();
  return message.for_each([&](const Field& field) -> Status {
    switch (field.number) {
      case 1:
        return append_text(field, node.inputs);
      case 2:
        return append_text(field, node.outputs);
      case 3:
        return field.read(node.name);
      case 4:
        return field.read(node.op);
      case 5:
        return append(field, node.attributes,
                      [&](Message inner, Attribute& out) { return read_attribute(inner, out); });
      case 7:
        UL_TRY_STATUS(field.read(node.domain));
        node.domain = standard(node.domain);
        return {};
      case 8:
        return field.read(node.overload);
      case 9:
        return read_metadata(field, node.metadata);
      default:
        return {};
    }
  });
}

Status Reader::read_attribute(Message message, Attribute& attribute) {
  AttributeType found = AttributeType::undefined;  // of what is there; old writers leave the type out
  int32_t declared = 0;
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    const auto tensor = [&](Message inner, Tensor& out) { return read_tensor(inner, out); };
    const auto sparse = [&](Message inner, Tensor& out) { return read_sparse_tensor(inner, out); };
    const auto graph = [&](Message inner, FileGraph& out) { return read_graph(inner, out); };
    switch (field.number) {
      case 1:
        return field.read(attribute.name);
      case 2:
        found = AttributeType::real;
        return field.read(attribute.real);
      case 3:
        found = AttributeType::integer;
        return field.read(attribute.integer);
      case 4:
        found = AttributeType::text;
        return field.read(attribute.text);
      case 5:
        found = AttributeType::tensor;
        return append(field, attribute.tensors, tensor);
      case 6:
        found = AttributeType::graph;
        return append(field, attribute.graphs, graph);
      case 7:
        found = AttributeType::reals;
        return append_numbers(field, attribute.reals);
      case 8:
        found = AttributeType::integers;
        return append_numbers(field, attribute.integers);
      case 9:
        found = AttributeType::texts;
        return append_text(field, attribute.texts);
      case 10:
        found = AttributeType::tensors;
        return append(field, attribute.tensors, tensor);
      case 11:
        found = AttributeType::graphs;
        return append(field, attribute.graphs, graph);
      case 20:
        return field.read(declared);
      case 21:
        return field.read(attribute.reference);
      case 22:
        found = AttributeType::sparse_tensor;
        return append(field, attribute.tensors, sparse);
      case 23:
        found = AttributeType::sparse_tensors;
        return append(field, attribute.tensors, sparse);
      default:
        return {};
    }
  }));
  const bool plausible = declared > 0 && declared <= static_cast<int32_t>(AttributeType::types);
  attribute.type = plausible ? static_cast<AttributeType>(declared) : found;
  return {};
}

Status Reader::read_dims(const Field& field, std::vector<int64_t>& dims) {
  const auto refuse = [&] {
    return fail(ErrorCode::limit, fmt::format("a tensor has more than {} dims", kMaxRank), byte_place(field.offset));
  };
  if (field.payload.size() > 10 * kMaxRank) return refuse();  // a varint has at most 10 bytes
  UL_TRY_STATUS(field.read(dims));
  if (dims.size() > kMaxRank) return refuse();
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) return field.refuse("holds a negative size");
  return {};
}

Status Reader::read_tensor(Message message, Tensor& tensor) {
  tensor.message = message.bytes();
  tensor.offset = message.offset();
  bool raw = false;
  bool external = false;
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    switch (field.number) {
      case 1:
        return read_dims(field, tensor.dims);
      case 2:
        return field.read(tensor.data_type);
      case 4:
      case 5:
      case 6:
      case 7:
      case 10:
      case 11:  // one field for each kind of number, packed or not
        tensor.payload = Payload::inside;
        tensor.stored_bytes += field.wire == WireType::length_delimited ? field.payload.size()
                               : field.wire == WireType::fixed32        ? 4
                               : field.wire == WireType::fixed64        ? 8
                                                                        : 1;
        return {};
      case 8:
        return field.read(tensor.name);
      case 9: {
        std::span<const std::byte> bytes;
        UL_TRY_STATUS(field.read(bytes));
        raw = true;
        tensor.payload = Payload::inside;
        tensor.stored_bytes = bytes.size();
        return {};
      }
      case 13:
        return field.nested([&](Message inner) { return read_external(inner, tensor); });
      case 14: {
        int32_t location = 0;
        UL_TRY_STATUS(field.read(location));
        external = location == 1;
        return {};
      }
      default:
        return {};
    }
  }));
  tensor.dtype = dtype_of(tensor.data_type);
  if (external) tensor.payload = Payload::external;
  if (!external) tensor.external_file = {};
  check_payload(tensor, raw);
  return {};
}

// One pair of strings: location, offset, length, checksum.
Status Reader::read_external(Message message, Tensor& tensor) {
  std::string_view key;
  std::string_view value;
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    if (field.number == 1) return field.read(key);
    return field.number == 2 ? field.read(value) : Status();
  }));
  if (key == "location") tensor.external_file = value;
  if (key != "offset" && key != "length") return {};
  const auto number = parse_decimal(value);
  if (!number) {
    return fail(ErrorCode::format, fmt::format("the {} of external data is no number: '{}'", key, value.substr(0, 32)),
                byte_place(message.offset()));
  }
  (key == "offset" ? tensor.external_offset : tensor.stored_bytes) = *number;
  return {};
}

Status Reader::read_sparse_tensor(Message message, Tensor& tensor) {
  std::vector<int64_t> dims;
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    if (field.number == 1) return field.nested([&](Message inner) { return read_tensor(inner, tensor); });
    return field.number == 3 ? read_dims(field, dims) : Status();
  }));
  tensor.sparse = true;
  tensor.stored_elements = tensor.numel();
  tensor.dims = std::move(dims);
  return {};
}

// Whether the payload can be what dims and type say. Numbers of a typed field are varints of one to ten bytes.
void Reader::check_payload(const Tensor& tensor, bool raw) {
  const int64_t count = tensor.numel();
  const auto stored = static_cast<int64_t>(std::min<uint64_t>(tensor.stored_bytes, INT64_MAX));
  if (tensor.dtype == DType::unknown) {
    notes_.add("unknown_dtype", fmt::format("tensor '{}': type {}", tensor.name, tensor.data_type));
    return;
  }
  if (tensor.payload == Payload::none) {
    if (count != 0) notes_.add("missing_weights", tensor.name);
    return;
  }
  if (tensor.dtype == DType::string) return;
  const int64_t exact = bytes_of(tensor.dtype, count).value;
  const bool floats = tensor.dtype == DType::f32 || tensor.dtype == DType::f64 || is_complex(tensor.dtype);
  const bool odd = raw || (floats && tensor.payload == Payload::inside) ? stored != exact
                   : tensor.payload == Payload::external                ? stored != 0 && stored != exact
                   : bits_of(tensor.dtype) < 8                          ? false  // a number may hold one element or two
                                               : stored < count || stored > saturating_mul(count, 10);
  if (odd) {
    notes_.add("payload_size_mismatch",
               fmt::format("tensor '{}' needs {} bytes, {} are stored", tensor.name, exact, tensor.stored_bytes));
  }
}

Status Reader::read_value_info(Message message, ValueInfo& info) {
  return message.for_each([&](const Field& field) -> Status {
    if (field.number == 1) return field.read(info.name);
    if (field.number != 2) return {};
    return field.nested([&](Message inner) { return read_type(inner, info, true); });
  });
}

Status Reader::read_type(Message message, ValueInfo& info, bool outermost) {
  return message.for_each([&](const Field& field) -> Status {
    const auto kind = field.number == 1   ? TypeKind::tensor
                      : field.number == 4 ? TypeKind::sequence
                      : field.number == 5 ? TypeKind::map
                      : field.number == 7 ? TypeKind::opaque
                      : field.number == 8 ? TypeKind::sparse_tensor
                      : field.number == 9 ? TypeKind::optional
                                          : TypeKind::none;
    if (outermost && kind != TypeKind::none) info.kind = kind;
    switch (kind) {
      case TypeKind::tensor:
      case TypeKind::sparse_tensor:
        return field.nested([&](Message inner) { return read_tensor_type(inner, info); });
      case TypeKind::sequence:
      case TypeKind::optional:  // one field: the type of the element
        return field.nested([&](Message inner) {
          return inner.for_each([&](const Field& element) -> Status {
            if (element.number != 1) return {};
            return element.nested([&](Message type) { return read_type(type, info, false); });
          });
        });
      default:
        return {};
    }
  });
}

Status Reader::read_tensor_type(Message message, ValueInfo& info) {
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    if (field.number == 1) return field.read(info.data_type);
    if (field.number != 2) return {};
    info.has_shape = true;
    return field.nested([&](Message shape) {
      return shape.for_each([&](const Field& dim) -> Status {
        if (dim.number != 1) return {};
        if (info.dims.size() == kMaxRank) {
          return fail(ErrorCode::limit, fmt::format("'{}' has more than {} dims", info.name, kMaxRank),
                      byte_place(dim.offset));
        }
        return append(dim, info.dims, [&](Message inner, Dim& out) { return read_dim(inner, out); });
      });
    });
  }));
  info.dtype = dtype_of(info.data_type);
  return {};
}

Status Reader::read_dim(Message message, Dim& dim) {
  return message.for_each([&](const Field& field) -> Status {
    if (field.number == 1) {
      UL_TRY_STATUS(field.read(dim.value));
      if (dim.value < 0) dim.value = -1;  // some writers mean "unknown" by it
      dim.param = {};
    } else if (field.number == 2) {
      UL_TRY_STATUS(field.read(dim.param));
      dim.value = -1;
    }
    return {};
  });
}

Status Reader::read_function(Message message, Function& function) {
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    switch (field.number) {
      case 1:
        return field.read(function.name);
      case 4:
        return append_text(field, function.inputs);
      case 5:
        return append_text(field, function.outputs);
      case 6:
        return append_text(field, function.attributes);
      case 7:
        return append(field, function.nodes, [&](Message inner, Node& node) { return read_node(inner, node); });
      case 9:
        return append(field, function.opsets, [&](Message inner, Opset& opset) { return read_opset(inner, opset); });
      case 10:
        return field.read(function.domain);
      case 11:
        return append(field, function.defaults,
                      [&](Message inner, Attribute& out) { return read_attribute(inner, out); });
      case 13:
        return field.read(function.overload);
      default:
        return {};
    }
  }));
  function.domain = standard(function.domain);
  return {};
}

Status Reader::read_opset(Message message, Opset& opset) {
  UL_TRY_STATUS(message.for_each([&](const Field& field) -> Status {
    if (field.number == 1) return field.read(opset.domain);
    return field.number == 2 ? field.read(opset.version) : Status();
  }));
  opset.domain = standard(opset.domain);
  return {};
}

Status Reader::read_metadata(const Field& field, Metadata& metadata) {
  return append(field, metadata, [](Message inner, auto& entry) {
    return inner.for_each([&](const Field& part) -> Status {
      if (part.number == 1) return part.read(entry.first);
      return part.number == 2 ? part.read(entry.second) : Status();
    });
  });
}

void Reader::merge_opsets(std::vector<Opset>& opsets) {
  std::vector<Opset> merged;
  for (const Opset& opset : opsets) {
    const auto same = std::ranges::find(merged, opset.domain, &Opset::domain);
    if (same == merged.end()) {
      merged.push_back(opset);
      continue;
    }
    if (same->version != opset.version) {
      notes_.add("duplicate_opset", fmt::format("'{}' at {} and {}", opset.domain, same->version, opset.version));
    }
    same->version = std::max(same->version, opset.version);
  }
  opsets = std::move(merged);
}

}  // namespace

Result<FileModel> read_model(SharedSource source, Diagnostics& notes) {
  FileModel model;
  model.source = std::move(source);
  const auto all = [&]() -> Status {
    UL_TRY_STATUS(Reader(notes).read(Message(model.source->bytes()), model));
    UL_TRY_STATUS(inline_functions(model));
    UL_TRY_STATUS(sort_nodes(model.graph));
    check_external_files(model, notes);
    return {};
  };
  if (Status status = all(); !status) return tl::unexpected(std::move(status).error().at(model.source->name()));
  return model;
}

}  // namespace ullage::onnx
