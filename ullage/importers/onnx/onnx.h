// The importer of ONNX files: recognises them, opens them without reading weights, makes Graphs of them.
//
//   UL_TRY(auto model, onnx::open(source, notes));
//   UL_TRY(Graph graph, model->graph({.batch = 32}, notes));
#pragma once

#include <memory>

#include "ullage/importers/importer.h"

namespace ullage::onnx {

// ONNX has no magic number: the score is how well the first fields fit a ModelProto.
int match(std::string_view filename, std::span<const std::byte> head);
Result<std::unique_ptr<Model>> open(SharedSource source, Diagnostics& notes);

}  // namespace ullage::onnx
