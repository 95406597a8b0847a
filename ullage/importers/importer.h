// An importer turns one file format into Graphs: it recognises (cheap), opens (reads structure, never payloads), and
// instantiates the graph at the shapes a recipe asks for, as often as asked. Adding a format is one importer and one
// line in registry.cpp.
//
//   UL_TRY(auto model, open_model("resnet50.onnx", notes));
//   UL_TRY(Graph graph, model->graph({.batch = 32}, notes));
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/diagnostics.h"
#include "ullage/base/result.h"
#include "ullage/base/source.h"
#include "ullage/ir/graph.h"

namespace ullage {

struct InputBinding {
  std::string name;  // empty: the first input
  Shape shape;
  std::optional<DType> dtype;
};

// The shapes of the run: what symbolic (or frozen) dims become.
struct Bindings {
  std::optional<int64_t> batch;
  std::optional<int64_t> seq;
  std::vector<InputBinding> inputs;
};

// What `inspect` shows: facts of the file, ready to print. Rows of one section share columns.
struct InspectSection {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::string_view format() const = 0;
  virtual const std::string& name() const = 0;
  // Const and repeatable: `fit` calls it for many batches. Refuses (unsupported, with the node and reason) a batch that
  // cannot be had.
  virtual Result<Graph> graph(const Bindings& bindings, Diagnostics& notes) const = 0;
  virtual std::vector<InspectSection> inspect() const = 0;
};

struct Importer {
  std::string_view format;       // "onnx"
  std::string_view description;  // one line for `list formats`
  std::string_view extensions;   // ".onnx .ort"
  // 0 = not mine … 100 = certain. `head` is at least the first 64 KiB, or the whole file.
  int (*match)(std::string_view filename, std::span<const std::byte> head);
  // Keeps `source` alive as long as the model needs it.
  Result<std::unique_ptr<Model>> (*open)(std::shared_ptr<const ByteSource> source, Diagnostics& notes);
};

std::span<const Importer> importers();
Result<std::unique_ptr<Model>> open_model(const std::string& path, Diagnostics& notes);
// Same, for bytes that are already here (fuzzers, tests, stdin).
Result<std::unique_ptr<Model>> open_model(std::shared_ptr<const ByteSource> source, Diagnostics& notes);

}  // namespace ullage
