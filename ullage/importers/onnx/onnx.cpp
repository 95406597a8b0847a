#include "ullage/importers/onnx/onnx.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "ullage/importers/onnx/inspect.h"
#include "ullage/importers/onnx/lower/lower.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {
namespace {

class OnnxModelFile final : public Model {
 public:
  explicit OnnxModelFile(FileModel file) : file_(std::move(file)) {
    const std::string_view given = find_metadata(file_.metadata, "ullage.model");
    name_ = given.empty() ? std::filesystem::path(file_.source->name()).stem().string() : std::string(given);
  }
  std::string_view format() const override { return "onnx"; }
  const std::string& name() const override { return name_; }
  Result<Graph> graph(const Bindings& bindings, Diagnostics& notes) const override {
    auto graph = lower(file_, bindings, notes);
    if (!graph) return tl::unexpected(std::move(graph).error().at(file_.source->name()));
    if (graph->name.empty()) graph->name = name_;
    return graph;
  }
  std::vector<InspectSection> inspect() const override { return onnx::inspect(file_); }

 private:
  FileModel file_;
  std::string name_;
};

// One varint at `at`, which moves behind it.
bool read_varint(std::span<const std::byte> bytes, size_t& at, uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint64_t>(bytes[at++]);
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool is_text(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) {
    const auto c = static_cast<uint8_t>(byte);
    return c >= 0x20 && c != 0x7f;
  });
}

}  // namespace

int match(std::string_view filename, std::span<const std::byte> head) {
  // The wire type of each field of ModelProto: 0 varint, 2 length-delimited.
  constexpr std::array<std::array<uint64_t, 2>, 11> kFields = {
      {{1, 0}, {2, 2}, {3, 2}, {4, 2}, {5, 0}, {6, 2}, {7, 2}, {8, 2}, {14, 2}, {20, 2}, {25, 2}}};
  const int by_name = filename.ends_with(".onnx") ? 30 : 0;
  int score = 0;
  size_t at = 0;
  while (at < head.size()) {
    uint64_t tag = 0;
    uint64_t value = 0;
    if (!read_varint(head, at, tag) || !read_varint(head, at, value)) break;
    const uint64_t number = tag >> 3;
    if (std::ranges::find(kFields, std::array<uint64_t, 2>{number, tag & 7}) == kFields.end()) return by_name;
    if (number == 1) score += value >= 1 && value <= 100 ? 30 : -100;  // ir_version
    if (number == 7 || number == 8) score += 30;
    if ((tag & 7) != 2) continue;
    // Producer, its version and the domain are short texts; a SavedModel has a graph of megabytes in field 2.
    const bool whole = value <= head.size() - at;
    const auto content = head.subspan(at, whole ? static_cast<size_t>(value) : 0);
    if (number >= 2 && number <= 4) {
      if (!whole || value > 1024 || !is_text(content)) return by_name;
      score += 20;
    }
    if (!whole) break;
    at += content.size();
  }
  return std::clamp(score + by_name, by_name, 100);
}

Result<std::unique_ptr<Model>> open(SharedSource source, Diagnostics& notes) {
  UL_TRY(FileModel file, read_model(std::move(source), notes));
  return std::make_unique<OnnxModelFile>(std::move(file));
}

}  // namespace ullage::onnx
