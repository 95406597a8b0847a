// What is in an ONNX file, as tables for `inspect`: facts of the file as it is, before any shape inference.
#pragma once

#include <vector>

#include "ullage/importers/importer.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

std::vector<InspectSection> inspect(const FileModel& model);

}  // namespace ullage::onnx
