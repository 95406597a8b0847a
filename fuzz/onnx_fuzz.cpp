// Opens any bytes as an ONNX file, inspects it and makes its graph at batch 2. What a fuzzer finds here a user's file
// can do.
#include "ullage/importers/onnx/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ullage;
  Diagnostics notes;
  const auto model = onnx::open(view_source("fuzz.onnx", std::as_bytes(std::span(data, size))), notes);
  if (!model) {
    check(!model.error().message.empty() && !model.error().where.empty(), "an error says what and where");
    return 0;
  }
  (*model)->inspect();
  const auto graph = (*model)->graph({.batch = 2}, notes);
  if (!graph) check(!graph.error().message.empty(), "an error says what is wrong");
  return 0;
}
