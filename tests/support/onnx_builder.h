// OnnxBuilder: writes a small ONNX file by hand, byte for byte as protobuf has it, so that tests go through the real
// reader.
//
//   OnnxBuilder m(17);
//   m.input("x", {"batch", 3, 32, 32}).weight("w", {8, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}, {{"pads", ints{1, 1,
//   1, 1}}}).output("y"); Graph g = lowered(m, {.batch = 4});
//
// Weights have dims and no values, as in files without weights.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "ullage/importers/onnx/lower/lower.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

using ints = std::vector<int64_t>;
using reals = std::vector<float>;

class OnnxBuilder {
 public:
  struct Dim {
    int64_t value = -1;
    std::string param;
    Dim(int v) : value(v) {}                // NOLINT
    Dim(const char* name) : param(name) {}  // NOLINT
  };
  struct TensorText {  // a tensor as an attribute
    int type;
    ints dims;
    ints values;
  };
  using Value = std::variant<int64_t, double, std::string, ints, reals, TensorText, const OnnxBuilder*>;
  struct Attr {
    std::string name;
    Value value;
    Attr(std::string n, int v) : name(std::move(n)), value(int64_t{v}) {}
    Attr(std::string n, double v) : name(std::move(n)), value(v) {}
    Attr(std::string n, const char* v) : name(std::move(n)), value(std::string(v)) {}
    Attr(std::string n, ints v) : name(std::move(n)), value(std::move(v)) {}
    Attr(std::string n, reals v) : name(std::move(n)), value(std::move(v)) {}
    Attr(std::string n, TensorText v) : name(std::move(n)), value(std::move(v)) {}
    Attr(std::string n, const OnnxBuilder& graph) : name(std::move(n)), value(&graph) {}
  };
  using Facts = std::vector<std::pair<std::string, std::string>>;

  explicit OnnxBuilder(int opset = 18) : opset_(opset) {}

  OnnxBuilder& input(const std::string& name, const std::vector<Dim>& dims, int type = 1) {
    return declare(11, name, dims, type);
  }
  OnnxBuilder& output(const std::string& name) {
    graph_ += field(12, field(1, name));
    return *this;
  }
  OnnxBuilder& value_info(const std::string& name, const std::vector<Dim>& dims, int type = 1) {
    return declare(13, name, dims, type);
  }
  OnnxBuilder& weight(const std::string& name, const ints& dims, int type = 1) {
    graph_ += field(5, tensor(name, type, dims, {}));
    return *this;
  }
  OnnxBuilder& int64s(const std::string& name, const ints& values) {
    graph_ += field(5, tensor(name, 7, {static_cast<int64_t>(values.size())}, values));
    return *this;
  }
  OnnxBuilder& scalar(const std::string& name, int64_t value) {
    graph_ += field(5, tensor(name, 7, {}, {value}));
    return *this;
  }
  OnnxBuilder& real(const std::string& name, float value) {
    std::string raw(4, '\0');
    std::memcpy(raw.data(), &value, 4);
    graph_ += field(5, number(2, 1) + field(8, name) + field(9, raw));
    return *this;
  }
  OnnxBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Attr>& attrs = {},
                    const std::string& domain = {}, const Facts& metadata = {}) {
    std::string n;
    for (const auto& in : inputs) n += field(1, in);
    for (const auto& out : outputs) n += field(2, out);
    n += field(3, name_.empty() ? op + "_" + std::to_string(count_) : name_) + field(4, op);
    for (const Attr& attr : attrs) n += field(5, attribute(attr));
    if (!domain.empty()) n += field(7, domain);
    for (const auto& [key, value] : metadata) n += field(9, field(1, key) + field(2, value));
    graph_ += field(1, n);
    ++count_;
    name_.clear();
    return *this;
  }
  OnnxBuilder& named(std::string name) {  // the name of the next node
    name_ = std::move(name);
    return *this;
  }
  OnnxBuilder& metadata(const std::string& key, const std::string& value) {
    facts_ += field(14, field(1, key) + field(2, value));
    return *this;
  }

  std::string bytes() const {
    const std::string standard = field(8, field(1, std::string()) + number(2, opset_));
    const std::string vendor = field(8, field(1, std::string("com.microsoft")) + number(2, 1));
    return number(1, 8) + standard + vendor + field(7, field(2, std::string("test")) + graph_) + facts_;
  }

 private:
  static std::string varint(uint64_t v) {
    std::string out;
    for (; v > 0x7F; v >>= 7) out += static_cast<char>((v & 0x7F) | 0x80);
    return out + static_cast<char>(v);
  }
  static std::string number(int id, int64_t v) {
    return varint(static_cast<uint64_t>(id) << 3) + varint(static_cast<uint64_t>(v));
  }
  static std::string field(int id, const std::string& bytes) {
    return varint((static_cast<uint64_t>(id) << 3) | 2) + varint(bytes.size()) + bytes;
  }
  static std::string float_bits(float f) {
    std::string out(4, '\0');
    std::memcpy(out.data(), &f, 4);
    return out;
  }
  static std::string tensor(const std::string& name, int type, const ints& dims, const ints& values) {
    std::string t;
    for (const int64_t d : dims) t += number(1, d);
    t += number(2, type);
    for (const int64_t v : values) t += number(type == 7 ? 7 : 5, v);
    return t + field(8, name);
  }
  static std::string attribute(const Attr& attr) {
    std::string a = field(1, attr.name);
    if (const auto* i = std::get_if<int64_t>(&attr.value)) return a + number(3, *i) + number(20, 2);
    if (const auto* f = std::get_if<double>(&attr.value))
      return a + varint((2 << 3) | 5) + float_bits(static_cast<float>(*f)) + number(20, 1);
    if (const auto* s = std::get_if<std::string>(&attr.value)) return a + field(4, *s) + number(20, 3);
    if (const auto* t = std::get_if<TensorText>(&attr.value))
      return a + field(5, tensor("", t->type, t->dims, t->values)) + number(20, 4);
    if (const auto* g = std::get_if<const OnnxBuilder*>(&attr.value)) return a + field(6, (*g)->graph_) + number(20, 5);
    if (const auto* v = std::get_if<ints>(&attr.value)) {
      for (const int64_t i : *v) a += number(8, i);
      return a + number(20, 7);
    }
    for (const float f : std::get<reals>(attr.value)) a += varint((7 << 3) | 5) + float_bits(f);
    return a + number(20, 6);
  }
  OnnxBuilder& declare(int id, const std::string& name, const std::vector<Dim>& dims, int type) {
    std::string shape;
    for (const Dim& d : dims) shape += field(1, d.value >= 0 ? number(1, d.value) : field(2, d.param));
    graph_ += field(id, field(1, name) + field(2, field(1, number(1, type) + field(2, shape))));
    return *this;
  }

  int opset_;
  int count_ = 0;
  std::string graph_;
  std::string facts_;
  std::string name_;
};

struct Lowered {
  Result<Graph> graph;
  Diagnostics notes;

  // The ops in order, separated by blanks.
  std::string ops() const {
    std::string text;
    for (const ::ullage::Node& n : graph->nodes) text += (text.empty() ? "" : " ") + std::string(n.op);
    return text;
  }
  const Value& value(const std::string& name) const {
    for (const Value& v : graph->values) {
      if (v.name == name) return v;
    }
    ADD_FAILURE() << "no value " << name;
    return *graph->values.begin();
  }
  std::string shape(const std::string& name) const { return value(name).shape.to_string(); }
  const ::ullage::Node& node(const std::string& op) const {
    for (const ::ullage::Node& n : graph->nodes) {
      if (n.op == op) return n;
    }
    ADD_FAILURE() << "no node " << op << " in: " << ops();
    return *graph->nodes.begin();
  }
  std::string error() const { return graph ? "" : graph.error().where + ": " + graph.error().message; }
};

inline Lowered lowered(const OnnxBuilder& model, const Bindings& bindings = {}) {
  Lowered out{fail(ErrorCode::format, "not read"), {}};
  auto file = read_model(memory_source("test.onnx", model.bytes()), out.notes);
  if (!file) {
    out.graph = tl::unexpected(file.error());
  } else {
    out.graph = lower(*file, bindings, out.notes);
  }
  return out;
}

}  // namespace ullage::onnx
