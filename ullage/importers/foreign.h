// Names files that no importer reads, so that an error can say what the user has and what to do with it.
//
//   name_foreign("model.pt", head)   →  {"a PyTorch checkpoint (torch.save)", "export the model: torch.onnx.export(…)"}
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace ullage {

struct ForeignFile {
  std::string_view what;    // with its article: "a GGUF model"
  std::string_view advice;  // what gets the user on
};

// `head` is the first 64 KiB or the whole file.
std::optional<ForeignFile> name_foreign(std::string_view filename, std::span<const std::byte> head);

}  // namespace ullage
