#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/protobuf_writer.h"
#include "ullage/importers/foreign.h"
#include "ullage/importers/importer.h"
#include "ullage/importers/onnx/onnx.h"

namespace ullage {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

Error open_error(const std::string& name, std::string_view bytes) {
  Diagnostics notes;
  auto model = open_model(memory_source(name, bytes), notes);
  EXPECT_FALSE(model) << name;
  return model ? Error{} : model.error();
}

struct Case {
  std::string name;
  std::string bytes;
  std::string what;
};

// First bytes as the formats' own specifications give them.
TEST(Registry, FilesOfOtherFormatsAreNamed) {
  const std::string zip = "PK\x03\x04\x14\0\0\0\0\0"s;
  const std::string safetensors = "\x40\0\0\0\0\0\0\0{\"weight\":{\"dtype\":\"F32\""s;
  const Case cases[] = {
      {"model.pt", zip + "model/data.pkl", "a PyTorch checkpoint (torch.save)"},
      {"model.pt", zip + "model/constants.pkl model/data.pkl", "a TorchScript model"},
      {"model.pt2", zip + "model/archive_format", "a torch.export archive"},
      {"model.keras", zip + "metadata.json config.json", "a Keras model"},
      {"stuff.zip", zip + "readme.txt", "a zip archive"},
      {"old.pt", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s, "a PyTorch checkpoint of the old format"},
      {"data.pkl", "\x80\x04\x95\x10\0\0\0"s, "a Python pickle"},
      {"llama.gguf", "GGUF\x03\0\0\0"s, "a GGUF model"},
      {"model.safetensors", safetensors, "a safetensors file"},
      {"model.h5", "\x89HDF\r\n\x1a\n"s, "an HDF5 file"},
      {"model.tflite", "\x1c\0\0\0TFL3"s, "a TensorFlow Lite model"},
      {"saved_model.pb", "\x08\x01\x12\xff\xff\x03\x0a\x05"s, "a TensorFlow SavedModel"},
      {"net.prototxt", "name: \"LeNet\"\nlayer {\n  name: \"data\"\n}\n", "a Caffe network"},
      {"yolo.cfg", "[net]\nbatch=64\n", "a Darknet configuration"},
      {"config.json", "{\n  \"architectures\": [\"BertModel\"]\n}", "a Hugging Face config.json"},
      {"model.safetensors.index.json", "{\"weight_map\": {}}", "the index of a checkpoint"},
      {"any.json", "{\"a\": 1}", "a JSON file"},
      {"resnet.onnx", "\n<!DOCTYPE html><html>", "an HTML page"},
      {"resnet.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "a Git LFS pointer"},
      {"m.onnx.gz", "\x1f\x8b\x08\0"s, "a gzip archive"},
      {"m.onnx.xz",
       "\xfd"
       "7zXZ\0"s,
       "an xz archive"},
      {"cat.png", "\x89PNG\r\n\x1a\n"s, "a PNG image"},
      {"m.ort", "\x18\0\0\0ORTM"s, "an ONNX Runtime model"},
  };
  for (const Case& c : cases) {
    const Error error = open_error(c.name, c.bytes);
    EXPECT_THAT(error.message, HasSubstr(c.what)) << c.name;
    EXPECT_EQ(error.code, ErrorCode::unsupported) << c.name;
    EXPECT_THAT(error.where, HasSubstr(c.name));
    EXPECT_FALSE(error.hint.empty()) << c.name;
  }
}

TEST(Registry, UnknownBytesAreShown) {
  const Error error = open_error("thing.dat", "\xde\xad\xbe\xef"s);
  EXPECT_THAT(error.message, HasSubstr("begins with de ad be ef"));
  EXPECT_THAT(error.hint, HasSubstr("list formats"));
}

TEST(Registry, EmptyAndMissingFilesAndFolders) {
  EXPECT_EQ(open_error("m.onnx", "").message, "the file is empty");
  Diagnostics notes;
  EXPECT_EQ(open_model("/nowhere/model.onnx", notes).error().code, ErrorCode::io);
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "ullage_folder";
  fs::create_directories(folder);
  std::ofstream(folder / "model.onnx") << "x";
  const auto with_model = open_model(folder.string(), notes);
  ASSERT_FALSE(with_model);
  EXPECT_THAT(with_model.error().hint, HasSubstr("model.onnx"));
  fs::remove(folder / "model.onnx");
  std::ofstream(folder / "config.json") << "{}";
  EXPECT_THAT(open_model(folder.string(), notes).error().message, HasSubstr("Hugging Face"));
  fs::remove_all(folder);
}

TEST(OnnxMatch, KnowsItsOwnAndNoOthers) {
  const auto score = [](std::string_view name, const std::string& bytes) {
    return onnx::match(name, std::as_bytes(std::span(bytes)));
  };
  const std::string model =
      wire::number(1, 8) + wire::field(2, "pytorch") + wire::field(3, "2.1") + wire::lying(7, 1'000'000, "\x0a\x05");
  EXPECT_GE(score("model", model), 50);
  EXPECT_GE(score("weights.bin", wire::field(7, "") + wire::field(8, "") + wire::number(1, 8)), 50);  // any order
  EXPECT_EQ(score("saved_model.pb", wire::number(1, 1) + wire::lying(2, 60'000, "\x0a\x05")), 0);
  EXPECT_EQ(score("net.caffemodel", wire::field(1, "LeNet")), 0);
  EXPECT_EQ(score("x", "{\"a\": 1}"), 0);
}

}  // namespace
}  // namespace ullage
