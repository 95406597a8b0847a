#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
std::span<const OpRule> attention_rules() { return {}; }
}  // namespace ullage::onnx
