// Lowers what an ONNX file says to a Graph of ATen ops at the shapes asked for.
//
//   UL_TRY(Graph graph, lower(model, {.batch = 32}, notes));
//
// Shapes are inferred by our own handlers (one table row per operator, in the files named by family); the file's
// declared shapes are used only for operators that no row knows. Payloads are read only where a shape depends on them.
#pragma once

#include "ullage/importers/importer.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

Result<Graph> lower(const FileModel& model, const Bindings& bindings, Diagnostics& notes);

}  // namespace ullage::onnx
