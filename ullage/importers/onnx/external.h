// Weights beside the model: finds the file that a tensor names, and refuses names that lead out of the model's folder
// (absolute paths,
// "..", links), since an ONNX file comes from anywhere. Tensors of missing or refused files keep their declared sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ullage/base/diagnostics.h"
#include "ullage/base/result.h"
#include "ullage/base/source.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

std::optional<uint64_t> parse_decimal(std::string_view text);

// The file `location` beside the model; an error when it is not there, not safe, or the model itself is no file.
Result<SharedSource> open_external(const ByteSource& model, std::string_view location);

// Counts what is wrong with the external data of a model's initializers: missing, unsafe, too short. Looks at each file
// once and reads none.
void check_external_files(const FileModel& model, Diagnostics& notes);

}  // namespace ullage::onnx
