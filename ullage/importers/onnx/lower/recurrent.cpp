#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
std::span<const OpRule> recurrent_rules() { return {}; }
}  // namespace ullage::onnx
