#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ullage/importers/foreign.h"
#include "ullage/importers/importer.h"
#include "ullage/importers/onnx/onnx.h"

namespace ullage {
namespace {

namespace fs = std::filesystem;

constexpr Importer kImporters[] = {
    {"onnx", "ONNX models, weights inside, outside or missing", ".onnx", onnx::match, onnx::open},
};

constexpr size_t kHead = size_t{64} << 10;
constexpr int kSure = 50;              // below this, something better known goes first
constexpr size_t kFolderLimit = 4096;  // entries of a folder that are looked at

// A folder is not a model, but what is in it tells what the user has.
Error explain_folder(const std::string& path) {
  std::vector<std::string> models;
  bool hugging_face = false;
  bool saved_model = false;
  std::error_code ignored;
  fs::directory_iterator entry(path, ignored);
  for (size_t i = 0; !ignored && entry != fs::directory_iterator() && i < kFolderLimit; ++i, entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".onnx")) models.push_back(entry->path().string());
    hugging_face |= name == "config.json";
    saved_model |= name == "saved_model.pb";
  }
  std::ranges::sort(models);
  if (models.size() > 5) models.resize(5);
  Error error{.code = ErrorCode::unsupported, .message = "this is a folder, not a model file", .where = path};
  if (!models.empty()) {
    error.hint = fmt::format("pass a file inside it: {}", fmt::join(models, ", "));
  } else if (hugging_face) {
    error.message = "this is a Hugging Face model folder, which is not read yet";
    error.hint = "export it: optimum-cli export onnx --model FOLDER OUT, and pass OUT/model.onnx";
  } else if (saved_model) {
    error.message = "this is a TensorFlow SavedModel folder, which is not read";
    error.hint = "convert it: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
  } else {
    error.hint = "pass a model file, such as model.onnx";
  }
  return error;
}

std::string first_bytes(std::span<const std::byte> head) {
  std::string out;
  for (const std::byte byte : head.first(std::min<size_t>(head.size(), 8))) {
    out += fmt::format("{}{:02x}", out.empty() ? "" : " ", static_cast<unsigned>(byte));
  }
  return out;
}

tl::unexpected<Error> refuse(const ByteSource& source, std::span<const std::byte> head) {
  if (const auto foreign = name_foreign(source.name(), head)) {
    return fail(ErrorCode::unsupported, fmt::format("this is {}, which is not read", foreign->what), source.name(),
                std::string(foreign->advice));
  }
  return fail(ErrorCode::unsupported,
              fmt::format("the format of this file is not known; it begins with {}", first_bytes(head)), source.name(),
              "`ullage list formats` shows what is read");
}

}  // namespace

std::span<const Importer> importers() { return kImporters; }

Result<std::unique_ptr<Model>> open_model(SharedSource source, Diagnostics& notes) {
  const auto head = source->bytes().first(std::min(source->size(), kHead));
  if (head.empty())
    return fail(ErrorCode::format, "the file is empty", source->name(), "was the download or the export interrupted?");
  const Importer* best = nullptr;
  int best_score = 0;
  for (const Importer& importer : kImporters) {
    const int score = importer.match(source->name(), head);
    if (score > best_score) {
      best = &importer;
      best_score = score;
    }
  }
  if (!best || (best_score < kSure && name_foreign(source->name(), head))) return refuse(*source, head);
  return best->open(std::move(source), notes);
}

Result<std::unique_ptr<Model>> open_model(const std::string& path, Diagnostics& notes) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return tl::unexpected(explain_folder(path));
  UL_TRY(SharedSource source, open_file(path));
  return open_model(std::move(source), notes);
}

}  // namespace ullage
