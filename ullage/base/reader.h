// ByteReader: reads little-endian numbers and runs of bytes, never past the end, and knows where in the file it is.
//
//   ByteReader reader(source->bytes());
//   UL_TRY(auto version, reader.read<uint32_t>("version"));
//   UL_TRY(auto name, reader.text(length, "tensor name"));       // a view, nothing is copied
//
// An error says what was being read and where: "byte 18204: tensor name needs 64 bytes, 12 remain".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "ullage/base/result.h"

namespace ullage {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian and so are the machines we build for");

// What every reader of bytes says when `what` needs more than there is.
tl::unexpected<Error> cut_off(uint64_t offset, std::string_view what, uint64_t needed, uint64_t remaining);
// "byte 18204", the form of a place in a file.
std::string byte_place(uint64_t offset);

class ByteReader {
 public:
  // `offset` is where `bytes` begins in the file, for error texts.
  explicit ByteReader(std::span<const std::byte> bytes, uint64_t offset = 0) : rest_(bytes), offset_(offset) {}

  uint64_t offset() const { return offset_; }
  size_t remaining() const { return rest_.size(); }
  bool at_end() const { return rest_.empty(); }

  template <class T>
  Result<T> read(std::string_view what) {
    static_assert(std::is_arithmetic_v<T>);
    if (rest_.size() < sizeof(T)) return cut_off(offset_, what, sizeof(T), rest_.size());
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    advance(sizeof(T));
    return value;
  }

  // Lengths are 64-bit, as files have them, and are compared with what is left before anything else happens.
  Result<std::span<const std::byte>> bytes(uint64_t count, std::string_view what) {
    if (count > rest_.size()) return cut_off(offset_, what, count, rest_.size());
    const auto taken = rest_.first(static_cast<size_t>(count));
    advance(taken.size());
    return taken;
  }

  Result<std::string_view> text(uint64_t count, std::string_view what) {
    UL_TRY(const auto taken, bytes(count, what));
    return std::string_view(reinterpret_cast<const char*>(taken.data()), taken.size());
  }

  Status skip(uint64_t count, std::string_view what) {
    UL_TRY_STATUS(bytes(count, what));
    return {};
  }

 private:
  void advance(size_t count) {
    rest_ = rest_.subspan(count);
    offset_ += count;
  }

  std::span<const std::byte> rest_;
  uint64_t offset_;
};

}  // namespace ullage
