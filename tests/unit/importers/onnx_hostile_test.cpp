// Files that are cut, changed or made to hurt: an error that says where, or an answer; never a crash, a hang or a big
// allocation.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/protobuf_writer.h"
#include "ullage/importers/importer.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {
namespace {

using ::testing::HasSubstr;
using wire::field;
using wire::lying;
using wire::number;

std::vector<std::pair<std::string, std::string>> tiny_files() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : std::filesystem::directory_iterator(ULLAGE_SOURCE_DIR "/fuzz/corpus/onnx")) {
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(entry.path().stem().string(), std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return files;
}

Result<FileModel> read(std::string_view bytes, Diagnostics& notes) {
  return read_model(memory_source("m.onnx", bytes), notes);
}

Error error_of(std::string_view bytes) {
  Diagnostics notes;
  auto model = read(bytes, notes);
  EXPECT_FALSE(model);
  return model ? Error{} : model.error();
}

// Opens and, if that goes well, makes the graph; every error must say something.
void try_all(std::string_view bytes, const std::string& label) {
  Diagnostics notes;
  const auto model = open_model(memory_source("m.onnx", bytes), notes);
  if (!model) {
    EXPECT_FALSE(model.error().message.empty()) << label;
    EXPECT_THAT(model.error().where, HasSubstr("m.onnx")) << label;
    return;
  }
  (*model)->inspect();
  const auto graph = (*model)->graph({.batch = 2}, notes);
  if (!graph) {
    EXPECT_FALSE(graph.error().message.empty()) << label;
    EXPECT_THAT(graph.error().where, HasSubstr("m.onnx")) << label;
  }
}

TEST(OnnxHostile, CutAtAnyByte) {
  for (const auto& [name, bytes] : tiny_files())
    for (size_t length = 0; length < bytes.size(); ++length)
      try_all(bytes.substr(0, length), fmt::format("{} cut at {}", name, length));
}

TEST(OnnxHostile, AnyByteChanged) {
  for (const auto& [name, bytes] : tiny_files()) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ change);
        try_all(changed, fmt::format("{} byte {} ^ {}", name, at, change));
      }
    }
  }
}

TEST(OnnxHostile, LengthsThatLie) {
  const std::string head = number(1, 8);
  const Error error = error_of(head + lying(7, uint64_t{1} << 40, "x"));
  EXPECT_THAT(error.where, HasSubstr("byte 2"));
  EXPECT_THAT(error.message, HasSubstr("field 7"));
  const Error inner = error_of(head + field(7, field(5, lying(9, 4'000'000'000, ""))));
  EXPECT_THAT(inner.where, HasSubstr("m.onnx: byte 6"));
  EXPECT_THAT(error_of(head).message, HasSubstr("there is no graph in this file"));
}

TEST(OnnxHostile, ANodeIsNamedInTheError) {
  const Error error =
      error_of(number(1, 8) + field(7, field(1, field(3, "conv") + field(4, "Conv") + field(5, field(20, "text")))));
  EXPECT_THAT(error.where, HasSubstr("node 0: node 'conv' (Conv): byte"));
}

// A graph in an attribute of a node of a graph …: a file of 100,000 levels takes 2 MB.
TEST(OnnxHostile, DeepNestingIsAnError) {
  std::string inside;
  std::string back;  // built backwards, since each level wraps the one before
  size_t size = 0;
  for (int i = 0; i < 100'000; ++i) {
    for (const uint32_t number : {6u, 5u, 1u}) {
      const std::string head = wire::varint(number << 3 | 2) + wire::varint(size);
      back.append(head.rbegin(), head.rend());
      size += head.size();
    }
  }
  inside.assign(back.rbegin(), back.rend());
  const Error error = error_of(number(1, 8) + field(7, inside));
  EXPECT_EQ(error.code, ErrorCode::limit);
  EXPECT_THAT(error.message, HasSubstr("messages nest deeper than 100"));
}

// f0 calls f1 twice, f1 calls f2 twice, …: 2^40 nodes from a few kilobytes.
TEST(OnnxHostile, FunctionsThatGrowWithoutEndAreAnError) {
  const auto call = [](std::string_view name, std::string_view in, std::string_view out) {
    return field(1, in) + field(2, out) + field(4, name) + field(7, "local");
  };
  std::string file = number(1, 8) + field(7, field(1, call("f0", "x", "y")));
  for (int i = 0; i < 40; ++i) {
    const std::string next = fmt::format("f{}", i + 1);
    file += field(25, field(1, fmt::format("f{}", i)) + field(4, "a") + field(5, "c") + field(7, call(next, "a", "b")) +
                          field(7, call(next, "b", "c")) + field(10, "local"));
  }
  const auto begin = std::chrono::steady_clock::now();
  const Error error = error_of(file);
  EXPECT_EQ(error.code, ErrorCode::limit);
  EXPECT_THAT(error.message, HasSubstr("inlining the file's functions takes more than"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(OnnxHostile, EmptyNodesByTheMillionAreAnError) {
  std::string nodes;
  for (int i = 0; i < 4'000'000; ++i) nodes += std::string("\x0a\x00", 2);
  EXPECT_EQ(error_of(number(1, 8) + field(7, nodes)).code, ErrorCode::limit);
}

TEST(OnnxHostile, DimsThatAreNoDims) {
  std::string many;
  for (int i = 0; i < 13; ++i) many += number(1, 1);
  EXPECT_EQ(error_of(number(1, 8) + field(7, field(5, many))).code, ErrorCode::limit);
  EXPECT_EQ(error_of(number(1, 8) + field(7, field(5, field(1, std::string(100'000, '\1'))))).code, ErrorCode::limit);
  EXPECT_THAT(error_of(number(1, 8) + field(7, field(5, number(1, ~uint64_t{0})))).message, HasSubstr("negative size"));
  Diagnostics notes;
  const auto negative_input =
      read(number(1, 8) +
               field(7, field(11, field(1, "x") +
                                      field(2, field(1, number(1, 1) + field(2, field(1, number(1, ~uint64_t{0}))))))),
           notes);
  ASSERT_TRUE(negative_input);
  EXPECT_FALSE(negative_input->graph.inputs[0].dims[0].known());
}

TEST(OnnxHostile, HugeDimsSaturate) {
  for (const auto& [name, bytes] : tiny_files()) {
    if (name != "huge_dims") continue;
    Diagnostics notes;
    const auto model = open_model(memory_source("m.onnx", bytes), notes);
    ASSERT_TRUE(model);
    const auto graph = (*model)->graph({}, notes);
    if (graph) {
      EXPECT_GE(graph->parameter_bytes().value, INT64_MAX / 2);
    }
  }
}

}  // namespace
}  // namespace ullage::onnx
