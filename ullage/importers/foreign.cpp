#include "ullage/importers/foreign.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace ullage {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kExport =
    "export the model with torch.onnx.export(model, args, \"model.onnx\", dynamo=True) and pass that";
constexpr std::string_view kWeightsOnly =
    "it holds weights but not what is computed with them; export the model with torch.onnx.export(model, args, "
    "\"model.onnx\", "
    "dynamo=True) and pass that";
constexpr std::string_view kTensorFlow =
    "convert it: python -m tf2onnx.convert (for SavedModel, Keras, TFLite and frozen graphs)";
constexpr std::string_view kUnpack = "unpack it and pass the model file inside";
constexpr std::string_view kNoModel = "pass a model file, such as model.onnx";

struct Magic {
  size_t offset;
  std::string_view bytes;
  ForeignFile file;
};

// Files that say what they are in their first bytes.
constexpr auto kMagics = std::to_array<Magic>({
    {0,
     "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv,
     {"a PyTorch checkpoint of the old format (torch.save)", kWeightsOnly}},
    {0, "GGUF"sv, {"a GGUF model (llama.cpp)", kWeightsOnly}},
    {0, "lmgg"sv, {"a GGML model (llama.cpp, before GGUF)", kWeightsOnly}},
    {0, "tjgg"sv, {"a GGML model (llama.cpp, before GGUF)", kWeightsOnly}},
    {0, "\x89HDF\r\n\x1a\n"sv, {"an HDF5 file (Keras .h5)", kTensorFlow}},
    {4, "TFL3"sv, {"a TensorFlow Lite model", kTensorFlow}},
    {4, "ORTM"sv, {"an ONNX Runtime model (.ort)", "pass the .onnx file it was made from"}},
    {0, "ftrt"sv, {"a TensorRT engine", "pass the .onnx file it was built from"}},
    {0, "\x93NUMPY"sv, {"a NumPy array", kNoModel}},
    {0, "\x1f\x8b"sv, {"a gzip archive", kUnpack}},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     {"an xz archive", kUnpack}},
    {0, "BZh"sv, {"a bzip2 archive", kUnpack}},
    {0, "\x28\xb5\x2f\xfd"sv, {"a zstd archive", kUnpack}},
    {0, "7z\xbc\xaf\x27\x1c"sv, {"a 7z archive", kUnpack}},
    {0, "Rar!"sv, {"a rar archive", kUnpack}},
    {257, "ustar"sv, {"a tar archive", kUnpack}},
    {0, "\x89PNG\r\n\x1a\n"sv, {"a PNG image", kNoModel}},
    {0, "\xff\xd8\xff"sv, {"a JPEG image", kNoModel}},
    {0, "GIF8"sv, {"a GIF image", kNoModel}},
    {0, "%PDF-"sv, {"a PDF document", kNoModel}},
    {0,
     "\x7f"
     "ELF"sv,
     {"a program or library (ELF)", kNoModel}},
    {0, "PAR1"sv, {"a Parquet table", kNoModel}},
    {0, "SQLite format 3"sv, {"an SQLite database", kNoModel}},
    {0,
     "version https://git-lfs.github.com/spec/"sv,
     {"a Git LFS pointer, which stands for the model file", "fetch the file itself: git lfs pull"}},
});

struct Inside {
  std::string_view text;
  ForeignFile file;
};

// By the names of a zip archive's members, which stand uncompressed in it.
constexpr auto kZips = std::to_array<Inside>({
    {"archive_format", {"a torch.export archive (.pt2)", kExport}},
    {"serialized_exported_program.json", {"a torch.export program (.pt2)", kExport}},
    {"bytecode.pkl", {"a PyTorch mobile model", kExport}},
    {"constants.pkl", {"a TorchScript model", kExport}},
    {"data.pkl", {"a PyTorch checkpoint (torch.save)", kWeightsOnly}},
    {"metadata.json", {"a Keras model (.keras)", kTensorFlow}},
    {".npy", {"an archive of NumPy arrays (.npz)", kNoModel}},
});

// JSON, by its keys.
constexpr auto kJsons = std::to_array<Inside>({
    {"\"weight_map\"", {"the index of a checkpoint in several files", kWeightsOnly}},
    {"\"model_type\"", {"a Hugging Face config.json", kExport}},
    {"\"architectures\"", {"a Hugging Face config.json", kExport}},
    {"\"_class_name\"", {"a diffusers config.json", kExport}},
    {"\"class_name\"", {"a Keras model in JSON", kTensorFlow}},
    {"\"arg_nodes\"", {"an MXNet symbol in JSON", "export the model to ONNX with mxnet's onnx exporter and pass that"}},
});

struct Extension {
  std::string_view ending;
  ForeignFile file;
};

// What has no magic number and is recognised by its name alone.
constexpr auto kExtensions = std::to_array<Extension>({
    {"saved_model.pb", {"a TensorFlow SavedModel", kTensorFlow}},
    {".pb", {"a TensorFlow graph", kTensorFlow}},
    {".caffemodel", {"a Caffe model", "convert it to ONNX, for example with MMdnn"}},
    {".weights", {"Darknet weights", "pass an ONNX export of the model"}},
    {".mlmodel", {"a Core ML model", "pass the ONNX or PyTorch model it was made from, exported to ONNX"}},
    {".engine", {"a TensorRT engine", "pass the .onnx file it was built from"}},
    {".plan", {"a TensorRT engine", "pass the .onnx file it was built from"}},
    {".pdmodel", {"a Paddle model", "convert it: paddle2onnx"}},
    {".msgpack", {"a Flax checkpoint", kWeightsOnly}},
    {".t7", {"a Torch7 model", "pass an ONNX export of the model"}},
    {".py", {"a Python program", kExport}},
});

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool starts_without_case(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), text.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

template <size_t n>
std::optional<ForeignFile> find_inside(std::string_view text, const std::array<Inside, n>& table) {
  for (const Inside& row : table)
    if (text.find(row.text) != std::string_view::npos) return row.file;
  return std::nullopt;
}

bool is_safetensors(std::string_view head) {
  uint64_t length = 0;
  if (head.size() < 9) return false;
  std::memcpy(&length, head.data(), sizeof(length));
  return head[8] == '{' && length >= 2 && length < (uint64_t{1} << 32);
}

// SavedModel: schema version 1 (field 1), then a message (field 2).
bool is_saved_model(std::string_view head) { return head.starts_with("\x08\x01\x12"); }

std::optional<ForeignFile> name_text(std::string_view head) {
  const size_t begin = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const std::string_view text = begin == std::string_view::npos ? std::string_view() : head.substr(begin);
  if (starts_without_case(text, "<!doctype html") || starts_without_case(text, "<html")) {
    return ForeignFile{"an HTML page, not the file it links to",
                       "download the file itself (on model hubs: the \"raw\" or \"resolve\" link)"};
  }
  if (text.starts_with("<?xml") || text.starts_with("<net ")) {
    return ForeignFile{"an XML file (OpenVINO keeps models in XML)", "pass the .onnx file it was made from"};
  }
  if (text.starts_with("[net]") || text.starts_with("[network]")) {
    return ForeignFile{"a Darknet configuration", "pass an ONNX export of the model"};
  }
  if (text.starts_with("{") || text.starts_with("[")) {
    if (const auto found = find_inside(text, kJsons)) return found;
    if (text.starts_with("{\"") || text.starts_with("{\n") || text.starts_with("{}") || text.starts_with("["))
      return ForeignFile{"a JSON file", kNoModel};
  }
  const bool layers = text.find("layer {") != std::string_view::npos ||
                      text.find("layers {") != std::string_view::npos || text.find("layer{") != std::string_view::npos;
  if (layers) return ForeignFile{"a Caffe network (prototxt)", "convert it to ONNX, for example with MMdnn"};
  return std::nullopt;
}

}  // namespace

std::optional<ForeignFile> name_foreign(std::string_view filename, std::span<const std::byte> bytes) {
  const std::string_view head = text_of(bytes);
  for (const Magic& magic : kMagics)
    if (head.size() >= magic.offset && head.substr(magic.offset).starts_with(magic.bytes)) return magic.file;
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) {
    return find_inside(head, kZips).value_or(ForeignFile{"a zip archive", kUnpack});
  }
  if (is_safetensors(head)) return ForeignFile{"a safetensors file", kWeightsOnly};
  if (const auto text = name_text(head)) return text;
  for (const Extension& row : kExtensions)
    if (filename.ends_with(row.ending)) return row.file;
  if (is_saved_model(head)) return ForeignFile{"a TensorFlow SavedModel", kTensorFlow};
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    return ForeignFile{"a Python pickle", kWeightsOnly};
  }
  return std::nullopt;
}

}  // namespace ullage
