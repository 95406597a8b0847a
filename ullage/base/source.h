// ByteSource: a named run of bytes that stays where it is: a file mapped read-only, memory, or a stream read to its
// end.
//
//   UL_TRY(auto source, open_file("resnet50.onnx"));
//   parse(source->bytes());                       // pages are read when they are touched, so skipped weights cost
//   nothing
//
// Not for files that change while they are read: a mapped file that is cut short under us ends the process (SIGBUS).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"

namespace ullage {

class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::string& name() const { return name_; }  // the path, as it was given
  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 protected:
  std::span<const std::byte> bytes_;

 private:
  std::string name_;
};

using SharedSource = std::shared_ptr<const ByteSource>;

// What is read into memory because it cannot be mapped (stdin, pipes) may be this long, unless said otherwise.
inline constexpr Bytes kStreamLimit = Bytes(int64_t{2} << 30);

// A regular file is mapped; a pipe or device is read up to `stream_limit`.
Result<SharedSource> open_file(const std::string& path, Bytes stream_limit = kStreamLimit);
Result<SharedSource> read_stdin(Bytes limit = kStreamLimit);

SharedSource memory_source(std::string name, std::vector<std::byte> bytes);
SharedSource memory_source(std::string name, std::string_view text);           // a copy
SharedSource view_source(std::string name, std::span<const std::byte> bytes);  // the caller keeps the bytes alive

}  // namespace ullage
