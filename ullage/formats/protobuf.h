// Reads protobuf's wire format: fields of a message in file order, each with its number and a view of its value.
// Nothing is copied or decoded before it is asked for, so a gigabyte of weights is skipped by one addition.
//
//   Status read_tensor(protobuf::Message message, Tensor& tensor) {
//     return message.for_each([&](const protobuf::Field& field) -> Status {
//       switch (field.number) {
//         case 1: return field.read(tensor.dims);       // repeated int64: packed and unpacked alike, appended
//         case 2: return field.read(tensor.data_type);
//         case 8: return field.read(tensor.name);       // std::string, or std::string_view into the file
//         case 9: return field.read(tensor.raw_data);   // a span: its bytes are not touched
//         case 13: return field.nested([&](protobuf::Message entry) { return read_entry(entry, tensor); });
//         default: return {};                           // unknown fields are skipped
//       }
//     });
//   }
//
// Not a protobuf library: no schemas, no writing, and what a field means is the importer's business. Values are decoded
// as libprotobuf decodes them; a length above 2 GiB, which libprotobuf refuses, is followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/result.h"

namespace ullage::protobuf {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, length_delimited = 2, group = 3, group_end = 4, fixed32 = 5 };

// How deep messages and groups may nest; libprotobuf's default, so no file that others read is refused.
inline constexpr int kMaxDepth = 100;

class Message;

struct Field {
  uint32_t number = 0;
  WireType wire = WireType::varint;
  int depth = 0;                       // of the message that holds it
  uint64_t offset = 0;                 // of its tag in the file
  uint64_t scalar = 0;                 // varint, fixed64, fixed32: the bits
  uint64_t payload_offset = 0;         // where `payload` begins in the file
  std::span<const std::byte> payload;  // length_delimited: the contents; group: what is between its tags

  // The value as the type that the schema says it has; another wire type is an error. Integers are cut to 32 bits where
  // the target has 32, as libprotobuf does (a negative int32 is written with ten bytes).
  Status read(bool& out) const;
  Status read(int32_t& out) const;
  Status read(int64_t& out) const;
  Status read(uint64_t& out) const;
  Status read(float& out) const;
  Status read(double& out) const;
  Status read(std::string& out) const;
  Status read(std::string_view& out) const;
  Status read(std::span<const std::byte>& out) const;
  // Repeated fields: each call appends one value, or all of a packed run.
  Status read(std::vector<int32_t>& out) const;
  Status read(std::vector<int64_t>& out) const;
  Status read(std::vector<uint64_t>& out) const;
  Status read(std::vector<float>& out) const;
  Status read(std::vector<double>& out) const;
  Status read(std::vector<std::string>& out) const;

  Result<Message> message() const;
  // Calls read(Message) with the nested message.
  template <class Read>
  Status nested(Read&& read) const;

  // "byte 17: field 3 …", for errors about what a value means.
  tl::unexpected<Error> refuse(std::string_view message) const;
};

// Walks the fields of one message, front to back.
class Cursor {
 public:
  explicit Cursor(const Message& message);
  // False at the end of the message.
  Result<bool> next(Field& field);

 private:
  Result<uint64_t> varint(std::string_view what);
  Status take(Field& field);
  Result<size_t> skip_group(const Field& opened);

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  uint64_t offset_;  // of bytes_[0] in the file
  int depth_;
};

class Message {
 public:
  // `offset` is where `bytes` begins in the file, for error texts.
  explicit Message(std::span<const std::byte> bytes, uint64_t offset = 0, int depth = 0)
      : bytes_(bytes), offset_(offset), depth_(depth) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  uint64_t offset() const { return offset_; }
  int depth() const { return depth_; }

  // Calls visit(const Field&) → Status for each field, up to the first error.
  template <class Visit>
  Status for_each(Visit&& visit) const {
    Cursor cursor(*this);
    Field field;
    while (true) {
      UL_TRY(const bool more, cursor.next(field));
      if (!more) return {};
      UL_TRY_STATUS(visit(static_cast<const Field&>(field)));
    }
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t offset_;
  int depth_;
};

template <class Read>
Status Field::nested(Read&& read) const {
  UL_TRY(const Message inner, message());
  return read(inner);
}

}  // namespace ullage::protobuf
