#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
std::span<const OpRule> control_flow_rules() { return {}; }
}  // namespace ullage::onnx
