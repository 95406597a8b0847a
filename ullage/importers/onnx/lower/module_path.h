// Where in the module hierarchy a node of the file ran, from what exporters leave: metadata, or the node's name.
#pragma once

#include <string>
#include <string_view>

#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {

// "layer1.0.conv1"; empty when the node says nothing.
std::string module_path(const Node& node);
// "/layer1/layer1.0/conv1/Conv" → "layer1.0.conv1"; empty for other names.
std::string path_of_scope(std::string_view name);
// "['', 'layer1', 'layer1.0', 'conv2d_1']" → "layer1.0" (the exporter's list ends with the name of the op).
std::string path_of_scopes(std::string_view list);

}  // namespace ullage::onnx
