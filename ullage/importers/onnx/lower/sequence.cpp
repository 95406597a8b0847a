#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
std::span<const OpRule> sequence_rules() { return {}; }
}  // namespace ullage::onnx
