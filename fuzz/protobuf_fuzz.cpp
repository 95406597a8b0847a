// Walks any bytes as a protobuf message, tries every way to read each field, and follows every nested message.
#include <string>
#include <vector>

#include "ullage/formats/protobuf.h"

namespace {

using ullage::check;
using ullage::Status;
using ullage::protobuf::Field;
using ullage::protobuf::Message;

template <class... T>
void read_as(const Field& field) {
  // Whether the wire type fits is not the question here; the readers must only stay inside.
  (static_cast<void>([&] {
     T value{};
     return field.read(value).has_value();
   }()),
   ...);
}

void walk(const Message& message, const Message& whole, int64_t& budget) {
  const Status status = message.for_each([&](const Field& field) -> Status {
    check(field.offset >= message.offset(), "a field begins inside its message");
    check(field.payload.empty() || field.payload.data() == whole.bytes().data() + field.payload_offset,
          "a payload's offset is its place in the file");
    check(field.payload.size() <= message.bytes().size(), "a payload is no longer than its message");
    // What is nested is read once a level, so the work is bounded by size times depth; the budget keeps inputs quick.
    budget -= static_cast<int64_t>(field.payload.size()) + 1;
    if (budget < 0) return {};
    read_as<bool, int32_t, int64_t, uint64_t, float, double, std::string, std::string_view, std::vector<int32_t>,
            std::vector<int64_t>, std::vector<uint64_t>, std::vector<float>, std::vector<double>,
            std::vector<std::string>>(field);
    if (const auto inner = field.message()) walk(*inner, whole, budget);
    return {};
  });
  if (!status) check(!status.error().where.empty(), "an error says where");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Message whole(std::as_bytes(std::span(data, size)));
  int64_t budget = 1 << 16;
  walk(whole, whole, budget);
  return 0;
}
