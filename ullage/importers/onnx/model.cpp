#include "ullage/importers/onnx/model.h"

#include <array>

#include <fmt/format.h>

namespace ullage::onnx {
namespace {

constexpr size_t kShownName = 96;  // names come from the file and may be of any length

std::string shown(std::string_view name) {
  return name.size() <= kShownName ? std::string(name) : std::string(name.substr(0, kShownName)) + "…";
}

template <class T>
bool is_set(const Attribute* attribute, AttributeType type, const std::vector<T>& list) {
  return attribute->type == type && !list.empty();
}

}  // namespace

std::string_view find_metadata(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata)
    if (name == key) return value;
  return {};
}

DType dtype_of(int32_t data_type) {
  // By the numbers of TensorProto.DataType.
  constexpr std::array kTypes = {DType::unknown,    DType::f32,  DType::u8,       DType::i8,         DType::u16,
                                 DType::i16,        DType::i32,  DType::i64,      DType::string,     DType::boolean,
                                 DType::f16,        DType::f64,  DType::u32,      DType::u64,        DType::c64,
                                 DType::c128,       DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                                 DType::f8e5m2fnuz, DType::u4,   DType::i4,       DType::f4e2m1,     DType::f8e8m0,
                                 DType::u2,         DType::i2};
  static_assert(kTypes.size() == 27);
  return data_type >= 0 && static_cast<size_t>(data_type) < kTypes.size() ? kTypes[static_cast<size_t>(data_type)]
                                                                          : DType::unknown;
}

int64_t Tensor::numel() const {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim == 0) return 0;
    count = saturating_mul(count, dim);
  }
  return count;
}

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

int64_t Node::integer(std::string_view attribute, int64_t otherwise) const {
  const Attribute* found = find(attribute);
  return found && found->type == AttributeType::integer ? found->integer : otherwise;
}

float Node::real(std::string_view attribute, float otherwise) const {
  const Attribute* found = find(attribute);
  return found && found->type == AttributeType::real ? found->real : otherwise;
}

std::string_view Node::text(std::string_view attribute, std::string_view otherwise) const {
  const Attribute* found = find(attribute);
  return found && found->type == AttributeType::text ? found->text : otherwise;
}

std::span<const int64_t> Node::integers(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  return found && found->type == AttributeType::integers ? std::span<const int64_t>(found->integers)
                                                         : std::span<const int64_t>();
}

std::span<const float> Node::reals(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  return found && found->type == AttributeType::reals ? std::span<const float>(found->reals) : std::span<const float>();
}

const Tensor* Node::tensor(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  const bool holds = found && (is_set(found, AttributeType::tensor, found->tensors) ||
                               is_set(found, AttributeType::sparse_tensor, found->tensors));
  return holds ? &found->tensors.front() : nullptr;
}

const FileGraph* Node::graph(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  return found && is_set(found, AttributeType::graph, found->graphs) ? &found->graphs.front() : nullptr;
}

std::string Node::place() const {
  if (!name.empty()) return fmt::format("node '{}' ({})", shown(name), shown(op));
  if (!outputs.empty()) return fmt::format("the node that makes '{}' ({})", shown(outputs.front()), shown(op));
  return fmt::format("a node without name ({})", shown(op));
}

int64_t FileModel::opset(std::string_view operator_domain) const {
  for (const Opset& entry : opsets)
    if (entry.domain == operator_domain) return entry.version;
  return 0;
}

}  // namespace ullage::onnx
