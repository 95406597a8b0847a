#include "ullage/importers/onnx/lower/module_path.h"

namespace ullage::onnx {

std::string path_of_scope(std::string_view name) {
  if (!name.starts_with('/')) return {};
  std::string path;
  std::string_view last;
  for (size_t at = 1; at < name.size();) {
    const size_t end = name.find('/', at);
    if (end == std::string_view::npos) break;  // what follows the last slash is the operator
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    // A child of a container repeats the container's name: "layer1" is followed by "layer1.0".
    if (!last.empty() && part.size() > last.size() && part.starts_with(last) && part[last.size()] == '.') {
      path.resize(path.size() - last.size());
      path += part;
    } else {
      if (!path.empty()) path += '.';
      path += part;
    }
    last = part;
  }
  return path;
}

std::string path_of_scopes(std::string_view list) {
  std::string_view previous;
  std::string_view last;
  for (size_t at = list.find('\''); at != std::string_view::npos;) {
    const size_t end = list.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    previous = last;
    last = list.substr(at + 1, end - at - 1);
    at = list.find('\'', end + 1);
  }
  return std::string(previous);
}

std::string module_path(const Node& node) {
  if (const std::string_view path = find_metadata(node.metadata, "ullage.module"); !path.empty()) {
    // What the exporter's own passes add belongs to no module.
    return path.starts_with("_empty_nn_module_stack") ? std::string() : std::string(path);
  }
  if (!find_metadata(node.metadata, "ullage.node").empty()) return {};
  if (const std::string_view scopes = find_metadata(node.metadata, "pkg.torch.onnx.name_scopes"); !scopes.empty()) {
    return path_of_scopes(scopes);
  }
  return path_of_scope(node.name);
}

}  // namespace ullage::onnx
