// Prints the top-level fields of messages for the comparison with libprotobuf (tests/python/test_protobuf.py): a line
// of hexadecimal in, a line out: "number:wire:value …" with integers in decimal and lengths for what is delimited, or
// "bad".
#include <charconv>
#include <iostream>
#include <string>
#include <vector>

#include "ullage/formats/protobuf.h"

using ullage::Status;
using ullage::protobuf::Field;
using ullage::protobuf::Message;
using ullage::protobuf::WireType;

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<unsigned char> bytes(line.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::from_chars(line.data() + 2 * i, line.data() + 2 * i + 2, bytes[i], 16);
    }
    std::string out;
    const Status status = Message(std::as_bytes(std::span(bytes))).for_each([&](const Field& field) -> Status {
      out += std::to_string(field.number) + ":" + std::to_string(static_cast<int>(field.wire));
      if (field.wire == WireType::length_delimited) {
        out += ":" + std::to_string(field.payload.size());
      } else if (field.wire != WireType::group) {
        out += ":" + std::to_string(field.scalar);
      }
      out += " ";
      return {};
    });
    std::cout << (status ? out : "bad " + status.error().message) << "\n";
  }
}
