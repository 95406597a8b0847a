// Writes protobuf's wire format by hand, for messages that no library would write.
//
//   field(7, field(1, "x") + number(8, 17))      a length-delimited field 7 that holds a text field 1 and a varint
//   field 8
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ullage::wire {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

inline std::string number(uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); }

// A field whose length says `length`, whatever the contents are.
inline std::string lying(uint32_t field, uint64_t length, std::string_view contents) {
  return varint(field << 3 | 2) + varint(length) + std::string(contents);
}

inline std::string field(uint32_t field, std::string_view contents) { return lying(field, contents.size(), contents); }

}  // namespace ullage::wire
