#include "ullage/base/source.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ullage {
namespace {

using testing::HasSubstr;

class Source : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "ullage_source_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  std::filesystem::path folder_;
};

std::string_view text_of(const ByteSource& source) {
  return {reinterpret_cast<const char*>(source.bytes().data()), source.size()};
}

TEST_F(Source, MapsAFile) {
  const std::string path = write("model.onnx", std::string_view("ab\0cd", 5));
  const auto source = open_file(path);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->name(), path);
  EXPECT_EQ(text_of(**source), std::string_view("ab\0cd", 5));
}

TEST_F(Source, EmptyFileHasNoBytes) {
  const auto source = open_file(write("empty", ""));
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->size(), 0);
}

TEST_F(Source, MissingFileSuggestsTheOneBesideIt) {
  write("resnet50.onnx", "x");
  const auto source = open_file((folder_ / "resnet5O.onnx").string());
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::io);
  EXPECT_THAT(source.error().message, HasSubstr("No such file"));
  EXPECT_THAT(source.error().where, HasSubstr("resnet5O.onnx"));
  EXPECT_THAT(source.error().hint, HasSubstr("resnet50.onnx"));
}

TEST_F(Source, FolderIsNamedAsSuch) {
  const auto source = open_file(folder_.string());
  ASSERT_FALSE(source.has_value());
  EXPECT_THAT(source.error().message, HasSubstr("folder"));
}

TEST_F(Source, PipeIsReadToItsEndOrRefusedAtTheLimit) {
  const std::string path = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string text(200'000, 'p');
  for (const bool fits : {true, false}) {
    std::thread writer([&] {
      std::FILE* pipe = std::fopen(path.c_str(), "wb");
      std::fwrite(text.data(), 1, text.size(), pipe);
      std::fclose(pipe);
    });
    // The limit is reached with the last byte, so the writer never meets a closed pipe.
    const auto source = open_file(path, Bytes(fits ? 200'000 : 199'999));
    writer.join();
    ASSERT_EQ(source.has_value(), fits);
    if (fits) {
      EXPECT_EQ(text_of(**source), text);
    } else {
      EXPECT_EQ(source.error().code, ErrorCode::limit);
    }
  }
}

// A sparse file of 4 GiB: opening it and looking at both ends must not bring it into memory.
TEST_F(Source, BigFileStaysOutside) {
  const std::string path = write("big", "begin");
  ASSERT_EQ(::truncate(path.c_str(), off_t{4} << 30), 0);
  rusage before = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  const auto source = open_file(path);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->size(), size_t{4} << 30);
  EXPECT_EQ((*source)->bytes().front(), std::byte{'b'});
  EXPECT_EQ((*source)->bytes().back(), std::byte{0});
  rusage after = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 4096) << "KiB";
}

TEST(MemorySource, OwnsOrViews) {
  EXPECT_EQ(text_of(*memory_source("stdin", "abc")), "abc");
  const std::string kept = "kept outside";
  const auto view = view_source("view", std::as_bytes(std::span(kept)));
  EXPECT_EQ(static_cast<const void*>(view->bytes().data()), kept.data());
}

}  // namespace
}  // namespace ullage
