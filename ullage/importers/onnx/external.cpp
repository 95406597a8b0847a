#include "ullage/importers/onnx/external.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <tsl/robin_map.h>

namespace ullage::onnx {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestPath = 1024;
constexpr size_t kMaxFiles = 1000;  // a file a tensor is common; beyond this many nobody looks

// Where the model lies; nothing when the bytes did not come from a file of that name (memory, stdin).
std::optional<fs::path> folder_of(const ByteSource& model) {
  const fs::path path(model.name());
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) != model.size() || error) return std::nullopt;
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

tl::unexpected<Error> unsafe(std::string_view location, std::string_view why) {
  return fail(ErrorCode::unsupported,
              fmt::format("external data '{}' is not followed: {}", location.substr(0, 96), why), "",
              "place the file beside the model under a plain name");
}

Result<fs::path> resolve(const ByteSource& model, std::string_view location) {
  if (location.empty() || location.size() > kLongestPath || location.find('\0') != std::string_view::npos)
    return unsafe(location, "it is no file name");
  const fs::path relative(location);
  if (relative.is_absolute() || relative.has_root_name()) return unsafe(location, "it is an absolute path");
  for (const fs::path& part : relative)
    if (part == "..") return unsafe(location, "it leads out of the model's folder");
  const auto folder = folder_of(model);
  if (!folder)
    return fail(ErrorCode::io, "external data of a model that is no file", std::string(location.substr(0, 96)));
  fs::path path = *folder;
  for (const fs::path& part : relative) {
    path /= part;
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(path, ignored))) return unsafe(location, "it is a link");
  }
  std::error_code error;
  if (!fs::exists(path, error)) return fail(ErrorCode::io, "no such file", path.string());
  if (!fs::is_regular_file(path, error)) return unsafe(location, "it is no regular file");
  return path;
}

}  // namespace

std::optional<uint64_t> parse_decimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<SharedSource> open_external(const ByteSource& model, std::string_view location) {
  UL_TRY(const fs::path path, resolve(model, location));
  return open_file(path.string());
}

void check_external_files(const FileModel& model, Diagnostics& notes) {
  tsl::robin_map<std::string_view, Result<uint64_t>> sizes;
  const auto size_of = [&](std::string_view location) -> Result<uint64_t> {
    UL_TRY(const fs::path path, resolve(*model.source, location));
    std::error_code error;
    return static_cast<uint64_t>(fs::file_size(path, error));
  };
  for (const Tensor& tensor : model.graph.initializers) {
    if (tensor.payload != Payload::external) continue;
    if (sizes.size() == kMaxFiles) return;
    auto known = sizes.find(tensor.external_file);
    if (known == sizes.end()) known = sizes.emplace(tensor.external_file, size_of(tensor.external_file)).first;
    const Result<uint64_t>& size = known->second;
    if (!size) {
      const bool missing = size.error().code == ErrorCode::io;
      notes.add(
          missing ? "missing_external_data" : "unsafe_external_path",
          fmt::format("'{}' in {}", tensor.name, missing ? tensor.external_file.substr(0, 96) : size.error().message));
      continue;
    }
    const uint64_t needed = tensor.stored_bytes != 0
                                ? tensor.stored_bytes
                                : static_cast<uint64_t>(bytes_of(tensor.dtype, tensor.numel()).value);
    if (tensor.external_offset > *size || needed > *size - tensor.external_offset) {
      notes.add("payload_size_mismatch", fmt::format("tensor '{}': {} bytes at {} of '{}', which has {}", tensor.name,
                                                     needed, tensor.external_offset, tensor.external_file, *size));
    }
  }
}

}  // namespace ullage::onnx
