#include "ullage/formats/protobuf.h"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ullage::protobuf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string raw(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

Message message_of(const std::string& text, uint64_t offset = 0) {
  return Message(std::as_bytes(std::span(text)), offset);
}

// All fields of a message, or the error that ended it.
Result<std::vector<Field>> fields(const std::string& text, uint64_t offset = 0) {
  std::vector<Field> out;
  UL_TRY_STATUS(message_of(text, offset).for_each([&](const Field& field) -> Status {
    out.push_back(field);
    return {};
  }));
  return out;
}

Error error_of(const std::string& text, uint64_t offset = 0) {
  auto result = fields(text, offset);
  EXPECT_FALSE(result.has_value());
  return result ? Error{} : result.error();
}

// The examples of protobuf's own page on encoding.
TEST(Protobuf, VarintFieldOfTheEncodingPage) {
  const auto found = fields(raw({0x08, 0x96, 0x01}));
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 1);
  EXPECT_EQ(found->front().number, 1);
  EXPECT_EQ(found->front().wire, WireType::varint);
  EXPECT_EQ(found->front().scalar, 150);
}

TEST(Protobuf, TextFieldOfTheEncodingPage) {
  const std::string file = raw({0x12, 0x07}) + "testing";
  const auto found = fields(file, 100);
  ASSERT_TRUE(found.has_value());
  std::string text;
  ASSERT_TRUE(found->front().read(text).has_value());
  EXPECT_EQ(text, "testing");
  EXPECT_EQ(found->front().offset, 100);
  EXPECT_EQ(found->front().payload_offset, 102);
  std::string_view view;
  ASSERT_TRUE(found->front().read(view).has_value());
  EXPECT_EQ(static_cast<const void*>(view.data()), file.data() + 2) << "a view, not a copy";
}

TEST(Protobuf, NestedMessageOfTheEncodingPage) {
  const std::string file = raw({0x1a, 0x03, 0x08, 0x96, 0x01});
  int32_t value = 0;
  const Status status = message_of(file).for_each([&](const Field& field) -> Status {
    EXPECT_EQ(field.number, 3);
    return field.nested([&](Message inner) {
      EXPECT_EQ(inner.offset(), 2);
      return inner.for_each([&](const Field& within) { return within.read(value); });
    });
  });
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(value, 150);
}

TEST(Protobuf, PackedAndUnpackedIntegersAreAlike) {
  std::vector<int64_t> packed;  // 3, 270, 86942: the encoding page's packed example
  ASSERT_TRUE(message_of(raw({0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05})).for_each([&](const Field& field) {
    return field.read(packed);
  }));
  EXPECT_THAT(packed, ElementsAre(3, 270, 86942));

  std::vector<int64_t> mixed;
  const std::string both = raw({0x30, 0x03, 0x32, 0x05, 0x8e, 0x02, 0x9e, 0xa7, 0x05, 0x32, 0x00});
  ASSERT_TRUE(message_of(both).for_each([&](const Field& field) { return field.read(mixed); }));
  EXPECT_THAT(mixed, ElementsAre(3, 270, 86942));
}

TEST(Protobuf, NegativeIntegersTakeTenBytes) {
  const std::string minus_two = raw({0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  const auto found = fields(minus_two);
  ASSERT_TRUE(found.has_value());
  int32_t narrow = 0;
  int64_t wide = 0;
  ASSERT_TRUE(found->front().read(narrow).has_value());
  ASSERT_TRUE(found->front().read(wide).has_value());
  EXPECT_EQ(narrow, -2);
  EXPECT_EQ(wide, -2);
}

TEST(Protobuf, FloatsAndDoubles) {
  const std::string file = raw({0x15, 0x00, 0x00, 0x80, 0x3f, 0x19, 0, 0, 0, 0, 0, 0, 0xf8, 0xbf});
  const auto found = fields(file);
  ASSERT_TRUE(found.has_value());
  float single = 0;
  double twice = 0;
  ASSERT_TRUE((*found)[0].read(single).has_value());
  ASSERT_TRUE((*found)[1].read(twice).has_value());
  EXPECT_EQ(single, 1.0F);
  EXPECT_EQ(twice, -1.5);

  std::vector<float> packed;
  const std::string run = raw({0x12, 0x08, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0x15, 0, 0, 0x40, 0x40});
  ASSERT_TRUE(message_of(run).for_each([&](const Field& field) { return field.read(packed); }));
  EXPECT_THAT(packed, ElementsAre(1.0F, -2.0F, 3.0F));
}

TEST(Protobuf, GroupsAreSkippedAsOneField) {
  // group 1 { 2: 5, group 3 { } }, then 4: 7
  const auto found = fields(raw({0x0b, 0x10, 0x05, 0x1b, 0x1c, 0x0c, 0x20, 0x07}));
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 2);
  EXPECT_EQ((*found)[0].wire, WireType::group);
  EXPECT_EQ((*found)[0].payload.size(), 4);
  EXPECT_EQ((*found)[1].number, 4);
  EXPECT_EQ((*found)[1].scalar, 7);
}

struct BadCase {
  const char* name;
  std::string bytes;
  const char* where;
  const char* message;
};

class ProtobufRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(ProtobufRefuses, WithThePlaceAndTheReason) {
  const Error error = error_of(GetParam().bytes, 1000);
  EXPECT_EQ(error.where, GetParam().where);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProtobufRefuses,
    testing::Values(
        BadCase{"length_beyond_end", raw({0x08, 0x01, 0x12, 0x05, 'a', 'b'}), "byte 1002",
                "field 2 needs 5 bytes, 2 remain"},
        BadCase{"length_of_2_to_63", raw({0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}), "byte 1000",
                "field 2 needs 9223372036854775807 bytes, 0 remain"},
        BadCase{"length_of_2_to_64_less_1", raw({0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
                "byte 1000", "field 2 needs 18446744073709551615 bytes"},
        BadCase{"no_value_after_tag", raw({0x08}), "byte 1001", "an integer is cut off"},
        BadCase{"no_length_after_tag", raw({0x12}), "byte 1001", "a length is cut off"},
        BadCase{"tag_cut_off", raw({0x80}), "byte 1000", "a field's tag is cut off"},
        BadCase{"fixed32_cut_off", raw({0x0d, 1, 2, 3}), "byte 1000", "field 1 needs 4 bytes, 3 remain"},
        BadCase{"fixed64_cut_off", raw({0x09, 1, 2, 3, 4, 5, 6, 7}), "byte 1000", "field 1 needs 8 bytes, 7 remain"},
        BadCase{"varint_of_11_bytes", raw({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}),
                "byte 1001", "longer than 10 bytes"},
        BadCase{"tag_beyond_32_bits", raw({0x88, 0x80, 0x80, 0x80, 0x10}), "byte 1000", "more than 32 bits"},
        BadCase{"field_zero", raw({0x00, 0x00}), "byte 1000", "number 0"},
        BadCase{"wire_type_6", raw({0x0e}), "byte 1000", "wire type 6"},
        BadCase{"wire_type_7", raw({0x0f}), "byte 1000", "wire type 7"},
        BadCase{"group_end_alone", raw({0x0c}), "byte 1000", "was not begun"},
        BadCase{"group_without_end", raw({0x0b, 0x10, 0x05}), "byte 1000", "does not end"},
        BadCase{"group_ended_by_another", raw({0x0b, 0x14}), "byte 1001", "group 1 is open"}),
    [](const auto& row) { return row.param.name; });

TEST(Protobuf, OtherWireTypeThanExpected) {
  const auto found = fields(raw({0x28, 0x01}), 40);
  ASSERT_TRUE(found.has_value());
  std::string text;
  const Status status = found->front().read(text);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().where, "byte 40");
  EXPECT_EQ(status.error().message, "field 5 holds a varint where text was expected");
  float number = 0;
  EXPECT_FALSE(found->front().read(number).has_value());
  EXPECT_FALSE(found->front().message().has_value());
}

TEST(Protobuf, PackedRunsThatDoNotAddUp) {
  std::vector<float> floats;
  const std::string five_bytes = raw({0x12, 0x05, 0, 0, 0x80, 0x3f, 0});
  const auto odd = fields(five_bytes);
  ASSERT_TRUE(odd.has_value());
  EXPECT_THAT(odd->front().read(floats).error().message, HasSubstr("5 bytes"));
  std::vector<int64_t> integers;
  const std::string last_goes_on = raw({0x12, 0x02, 0x01, 0x80});
  const auto open = fields(last_goes_on, 500);
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->front().read(integers).error().where, "byte 503");
}

// 100,000 messages, each the only field of the one around it.
TEST(Protobuf, DeepNestingIsRefusedAndNotFollowed) {
  std::string reversed;
  for (int i = 0; i < 100'000; ++i) {
    std::string length;
    for (size_t rest = reversed.size(); length.empty() || rest != 0; rest >>= 7) {
      if (!length.empty()) length.back() = static_cast<char>(length.back() | 0x80);
      length.push_back(static_cast<char>(rest & 0x7f));
    }
    reversed.append(length.rbegin(), length.rend());
    reversed.push_back(0x0a);
  }
  const std::string deep(reversed.rbegin(), reversed.rend());
  int levels = 0;
  const std::function<Status(Message)> descend = [&](Message message) -> Status {
    ++levels;
    return message.for_each([&](const Field& field) { return field.nested(descend); });
  };
  const Status status = descend(message_of(deep));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::limit);
  EXPECT_EQ(levels, kMaxDepth + 1);

  EXPECT_EQ(error_of(std::string(100'000, 0x0b)).code, ErrorCode::limit) << "groups alike";
}

// What is cut at any byte is refused or ends earlier; nothing is read behind the end (the sanitizers watch).
TEST(Protobuf, CutAtEveryByte) {
  const std::string whole =
      raw({0x08, 0x96, 0x01, 0x12, 0x03, 'a', 'b', 'c', 0x0b, 0x10, 0x05, 0x0c, 0x1d, 1, 2, 3, 4});
  ASSERT_EQ(fields(whole)->size(), 4);
  const std::vector<size_t> ends = {0, 3, 8, 12, 17};  // where a field ends
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    // A buffer of exactly this length, so that the address sanitizer sees a read behind it.
    const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
    const Status found = Message(std::as_bytes(std::span(exact))).for_each([](const Field&) { return Status(); });
    EXPECT_EQ(found.has_value(), std::find(ends.begin(), ends.end(), cut) != ends.end()) << cut;
  }
}

}  // namespace
}  // namespace ullage::protobuf
