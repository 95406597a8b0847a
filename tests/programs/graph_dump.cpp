// graph_dump MODEL.onnx [--batch N] [--seq N] [--input NAME=1x3x8x8] [--quiet]: the Graph that the importer makes, as
// text, for people and for tests in Python. One line a value or node:
//
//   parameter conv1.weight float32 64x3x7x7
//   node convolution conv1 in=x,conv1.weight,- out=conv2d:float32:1x64x112x112 stride=[2,2] padding=[3,3] …
#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ullage/importers/onnx/lower/lower.h"
#include "ullage/importers/onnx/model.h"

namespace {

using namespace ullage;  // NOLINT: a program of one file

std::string shape_text(const Value& v) { return v.shape.rank() == 0 ? "scalar" : v.shape.to_string(); }

std::string attr_text(const Attr& attr) {
  const std::string key(attr.key);
  if (const auto* i = std::get_if<int64_t>(&attr.value)) return fmt::format("{}={}", key, *i);
  if (const auto* d = std::get_if<double>(&attr.value)) return fmt::format("{}={}", key, *d);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&attr.value))
    return fmt::format("{}=[{}]", key, fmt::join(*v, ","));
  return fmt::format("{}={}", key, std::get<std::string>(attr.value));
}

void print(const Graph& g) {
  static constexpr const char* kKinds[] = {"activation", "input", "parameter", "buffer", "constant"};
  for (const Value& v : g.values) {
    if (v.kind == ValueKind::activation) continue;
    fmt::print("{} {} {} {}\n", kKinds[static_cast<size_t>(v.kind)], v.name, name_of(v.dtype), shape_text(v));
  }
  for (const Node& n : g.nodes) {
    std::string line =
        fmt::format("node {} {} in=", n.op, g.modules[n.module].name.empty() ? "-" : g.modules[n.module].name);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      line += fmt::format("{}{}", i ? "," : "", n.inputs[i] ? g.values[n.inputs[i]].name : "-");
    }
    for (const ValueId id : n.outputs) {
      const Value& v = g.values[id];
      line += fmt::format(" out={}:{}:{}", v.name, name_of(v.dtype), shape_text(v));
    }
    for (const Attr& attr : n.attrs) line += " " + attr_text(attr);
    fmt::print("{}\n", line);
  }
  for (const ValueId id : g.outputs) fmt::print("output {}\n", g.values[id].name);
}

int fail_with(const Error& e) {
  fmt::print(stderr, "error: {}: {}\n  {}\n", e.where, e.message, e.hint);
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  Bindings bindings;
  bool quiet = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--quiet") {
      quiet = true;
    } else if (arg.starts_with("--") && i + 1 < argc) {
      const std::string text = argv[++i];
      if (arg == "--batch") bindings.batch = std::stoll(text);
      if (arg == "--seq") bindings.seq = std::stoll(text);
      if (arg == "--input") {
        const size_t equals = text.find('=');
        auto shape = parse_shape(text.substr(equals + 1));
        if (!shape) return fail_with(shape.error());
        bindings.inputs.push_back({text.substr(0, equals), *shape, {}});
      }
    } else {
      path = arg;
    }
  }
  Diagnostics notes;
  const auto t0 = std::chrono::steady_clock::now();
  auto source = open_file(path);
  if (!source) return fail_with(source.error());
  auto model = onnx::read_model(*source, notes);
  if (!model) return fail_with(model.error());
  const auto t1 = std::chrono::steady_clock::now();
  auto graph = onnx::lower(*model, bindings, notes);
  const auto t2 = std::chrono::steady_clock::now();
  if (!graph) return fail_with(graph.error());
  if (!quiet) print(*graph);
  for (const Diagnostic& d : notes.rows()) fmt::print("diagnostic {} {} {}\n", d.kind, d.count, d.first);
  fmt::print(stderr, "{} nodes, {} parameters, read {:.2f} ms, lowered {:.2f} ms\n", graph->nodes.size(),
             graph->parameter_count(), std::chrono::duration<double, std::milli>(t1 - t0).count(),
             std::chrono::duration<double, std::milli>(t2 - t1).count());
  return 0;
}
