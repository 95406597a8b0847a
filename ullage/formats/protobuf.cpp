#include "ullage/formats/protobuf.h"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "ullage/base/reader.h"

namespace ullage::protobuf {

namespace {

constexpr size_t kLongestVarint = 10;  // 64 bits, seven a byte

std::string_view wire_name(WireType wire) {
  constexpr std::array<std::string_view, 6> kNames = {"a varint", "64 fixed bits", "a length-delimited value",
                                                      "a group",  "a group's end", "32 fixed bits"};
  return kNames[static_cast<size_t>(wire)];
}

tl::unexpected<Error> malformed(uint64_t offset, std::string message) {
  return fail(ErrorCode::format, std::move(message), byte_place(offset));
}

// Decodes one varint at `bytes[position]` and moves `position` behind it; false when it is cut off or too long. Bits
// above the 64th are dropped, as libprotobuf does.
bool decode_varint(std::span<const std::byte> bytes, size_t& position, uint64_t& out) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLongestVarint && position + i < bytes.size(); ++i) {
    const auto byte = static_cast<uint64_t>(bytes[position + i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      position += i + 1;
      out = value;
      return true;
    }
  }
  return false;
}

tl::unexpected<Error> bad_varint(uint64_t offset, std::string_view what, size_t remaining) {
  if (remaining < kLongestVarint) {
    return fail(ErrorCode::format, fmt::format("{} is cut off: a varint that does not end", what), byte_place(offset),
                "the file may be cut off or damaged");
  }
  return malformed(offset, fmt::format("{} is a varint longer than {} bytes", what, kLongestVarint));
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

Status expect(const Field& field, WireType wire, std::string_view what) {
  if (field.wire == wire) return {};
  return field.refuse(fmt::format("holds {} where {} was expected", wire_name(field.wire), what));
}

template <class T>
Status read_integer(const Field& field, T& out) {
  UL_TRY_STATUS(expect(field, WireType::varint, "an integer"));
  out = static_cast<T>(field.scalar);
  return {};
}

template <class T>
Status append_integers(const Field& field, std::vector<T>& out) {
  if (field.wire == WireType::varint) {
    out.push_back(static_cast<T>(field.scalar));
    return {};
  }
  UL_TRY_STATUS(expect(field, WireType::length_delimited, "integers"));
  size_t position = 0;
  while (position < field.payload.size()) {
    uint64_t value = 0;
    const size_t begin = position;
    if (!decode_varint(field.payload, position, value)) {
      return bad_varint(field.payload_offset + begin, fmt::format("a value of field {}", field.number),
                        field.payload.size() - begin);
    }
    out.push_back(static_cast<T>(value));
  }
  return {};
}

template <class T>
Status append_fixed(const Field& field, WireType single, std::vector<T>& out) {
  if (field.wire == single) {
    T value;
    UL_TRY_STATUS(field.read(value));
    out.push_back(value);
    return {};
  }
  UL_TRY_STATUS(expect(field, WireType::length_delimited, "floating-point numbers"));
  if (field.payload.size() % sizeof(T) != 0) {
    return field.refuse(
        fmt::format("holds {} bytes, which is no whole number of {}-byte values", field.payload.size(), sizeof(T)));
  }
  const size_t before = out.size();
  out.resize(before + field.payload.size() / sizeof(T));
  if (!field.payload.empty()) std::memcpy(out.data() + before, field.payload.data(), field.payload.size());
  return {};
}

}  // namespace

Status Field::read(bool& out) const {
  UL_TRY_STATUS(expect(*this, WireType::varint, "a boolean"));
  out = scalar != 0;
  return {};
}

Status Field::read(int32_t& out) const { return read_integer(*this, out); }
Status Field::read(int64_t& out) const { return read_integer(*this, out); }
Status Field::read(uint64_t& out) const { return read_integer(*this, out); }

Status Field::read(float& out) const {
  UL_TRY_STATUS(expect(*this, WireType::fixed32, "a 32-bit float"));
  out = std::bit_cast<float>(static_cast<uint32_t>(scalar));
  return {};
}

Status Field::read(double& out) const {
  UL_TRY_STATUS(expect(*this, WireType::fixed64, "a 64-bit float"));
  out = std::bit_cast<double>(scalar);
  return {};
}

Status Field::read(std::string& out) const {
  std::string_view view;
  UL_TRY_STATUS(read(view));
  out.assign(view);
  return {};
}

Status Field::read(std::string_view& out) const {
  UL_TRY_STATUS(expect(*this, WireType::length_delimited, "text"));
  out = {reinterpret_cast<const char*>(payload.data()), payload.size()};
  return {};
}

Status Field::read(std::span<const std::byte>& out) const {
  UL_TRY_STATUS(expect(*this, WireType::length_delimited, "bytes"));
  out = payload;
  return {};
}

Status Field::read(std::vector<int32_t>& out) const { return append_integers(*this, out); }
Status Field::read(std::vector<int64_t>& out) const { return append_integers(*this, out); }
Status Field::read(std::vector<uint64_t>& out) const { return append_integers(*this, out); }
Status Field::read(std::vector<float>& out) const { return append_fixed(*this, WireType::fixed32, out); }
Status Field::read(std::vector<double>& out) const { return append_fixed(*this, WireType::fixed64, out); }

Status Field::read(std::vector<std::string>& out) const {
  std::string_view view;
  UL_TRY_STATUS(read(view));
  out.emplace_back(view);
  return {};
}

Result<Message> Field::message() const {
  UL_TRY_STATUS(expect(*this, WireType::length_delimited, "a message"));
  if (depth >= kMaxDepth) {
    return fail(ErrorCode::limit, fmt::format("messages nest deeper than {}", kMaxDepth), byte_place(offset));
  }
  return Message(payload, payload_offset, depth + 1);
}

tl::unexpected<Error> Field::refuse(std::string_view message) const {
  return malformed(offset, fmt::format("field {} {}", number, message));
}

Cursor::Cursor(const Message& message) : bytes_(message.bytes()), offset_(message.offset()), depth_(message.depth()) {}

Result<uint64_t> Cursor::varint(std::string_view what) {
  uint64_t value = 0;
  if (decode_varint(bytes_, position_, value)) return value;
  return bad_varint(offset_ + position_, what, bytes_.size() - position_);
}

Result<bool> Cursor::next(Field& field) {
  if (position_ == bytes_.size()) return false;
  field = Field{};
  field.depth = depth_;
  field.offset = offset_ + position_;
  UL_TRY_STATUS(take(field));
  if (field.wire == WireType::group_end) return field.refuse("ends a group that was not begun");
  if (field.wire == WireType::group) {
    const size_t begin = position_;
    field.payload_offset = offset_ + begin;
    UL_TRY(const size_t end, skip_group(field));
    field.payload = bytes_.subspan(begin, end - begin);
  }
  return true;
}

// Reads a tag and the value behind it; of a group only the opening tag.
Status Cursor::take(Field& field) {
  UL_TRY(const uint64_t tag, varint("a field's tag"));
  if (tag > UINT32_MAX)
    return malformed(field.offset, fmt::format("{} is no field tag: it has more than 32 bits", tag));
  field.number = static_cast<uint32_t>(tag >> 3);
  if (field.number == 0) return malformed(field.offset, "a field has number 0, and fields are counted from 1");
  if ((tag & 7) > static_cast<uint64_t>(WireType::fixed32)) {
    return malformed(field.offset,
                     fmt::format("field {} has wire type {}, which does not exist", field.number, tag & 7));
  }
  field.wire = static_cast<WireType>(tag & 7);
  uint64_t length = 0;
  switch (field.wire) {
    case WireType::varint: {
      UL_TRY(field.scalar, varint("an integer"));
      return {};
    }
    case WireType::fixed64:
      length = 8;
      break;
    case WireType::fixed32:
      length = 4;
      break;
    case WireType::length_delimited: {
      UL_TRY(length, varint("a length"));
      break;
    }
    case WireType::group:
    case WireType::group_end:
      return {};
  }
  if (length > bytes_.size() - position_) {
    return cut_off(field.offset, fmt::format("field {}", field.number), length, bytes_.size() - position_);
  }
  const std::byte* begin = bytes_.data() + position_;
  if (field.wire == WireType::fixed64) field.scalar = load<uint64_t>(begin);
  if (field.wire == WireType::fixed32) field.scalar = load<uint32_t>(begin);
  if (field.wire == WireType::length_delimited) {
    field.payload = bytes_.subspan(position_, length);
    field.payload_offset = offset_ + position_;
  }
  position_ += length;
  return {};
}

// Moves behind the tag that ends the group `opened` and returns where that tag begins.
Result<size_t> Cursor::skip_group(const Field& opened) {
  std::array<uint32_t, kMaxDepth> open = {opened.number};
  size_t depth = 1;
  Field inner;
  while (true) {
    const size_t begin = position_;
    inner.offset = offset_ + begin;
    if (begin == bytes_.size()) return opened.refuse("is a group that does not end");
    UL_TRY_STATUS(take(inner));
    if (inner.wire == WireType::group) {
      if (depth == open.size()) {
        return fail(ErrorCode::limit, fmt::format("groups nest deeper than {}", kMaxDepth), byte_place(inner.offset));
      }
      open[depth++] = inner.number;
    } else if (inner.wire == WireType::group_end) {
      if (open[depth - 1] != inner.number) {
        return inner.refuse(fmt::format("ends a group, but group {} is open", open[depth - 1]));
      }
      if (--depth == 0) return begin;
    }
  }
}

}  // namespace ullage::protobuf
