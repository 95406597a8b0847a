// Reads the elements of small tensors, in all encodings that ONNX has for them.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "ullage/base/reader.h"
#include "ullage/formats/protobuf.h"
#include "ullage/importers/onnx/external.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {
namespace {

using protobuf::Field;
using protobuf::Message;

struct Elements {
  std::vector<int64_t> ints;  // of integer types and bool
  std::vector<double> reals;  // of floating types
};

std::string place_of(const Tensor& tensor) {
  return fmt::format("{}: tensor '{}'", byte_place(tensor.offset), tensor.name.substr(0, 96));
}

// A floating-point number of few bits: sign, exponent, mantissa. `finite` types use the highest exponent for numbers as
// well; what their few NaN patterns come to does not matter here.
double small_float(uint32_t bits, int exponent_bits, int mantissa_bits, int bias, bool finite) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const double sign = (bits >> (mantissa_bits + exponent_bits)) & 1 ? -1.0 : 1.0;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  if (!finite && exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

double float_of(DType dtype, uint32_t bits) {
  switch (dtype) {
    case DType::f16:
      return small_float(bits, 5, 10, 15, false);
    case DType::bf16:
      return static_cast<double>(std::bit_cast<float>(bits << 16));
    case DType::f8e4m3fn:
      return small_float(bits, 4, 3, 7, true);
    case DType::f8e4m3fnuz:
      return small_float(bits, 4, 3, 8, true);
    case DType::f8e5m2:
      return small_float(bits, 5, 2, 15, false);
    case DType::f8e5m2fnuz:
      return small_float(bits, 5, 2, 16, true);
    case DType::f8e8m0:
      return std::ldexp(1.0, static_cast<int>(bits & 0xff) - 127);
    case DType::f4e2m1:
      return small_float(bits, 2, 1, 1, true);
    default:
      return 0;
  }
}

bool is_signed(DType dtype) {
  return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64 ||
         dtype == DType::i4 || dtype == DType::i2;
}

// Appends the element whose bits these are (the low ones of `bits`).
void append(DType dtype, uint64_t bits, Elements& out) {
  const int width = bits_of(dtype);
  if (dtype == DType::f32) {
    out.reals.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  } else if (dtype == DType::f64) {
    out.reals.push_back(std::bit_cast<double>(bits));
  } else if (is_floating(dtype)) {
    out.reals.push_back(float_of(dtype, static_cast<uint32_t>(bits)));
  } else if (dtype == DType::boolean) {
    out.ints.push_back((bits & 0xff) != 0);
  } else {
    const int unused = 64 - width;
    const auto high = static_cast<int64_t>(bits << unused);
    out.ints.push_back(is_signed(dtype) ? high >> unused : static_cast<int64_t>(static_cast<uint64_t>(high) >> unused));
  }
}

// Elements of less than a byte: the low bits come first; the last byte may hold fewer than it could.
void append_packed(DType dtype, uint8_t byte, int64_t count, Elements& out) {
  const int width = bits_of(dtype);
  for (int at = 0; at < 8; at += width) {
    if (static_cast<int64_t>(out.ints.size() + out.reals.size()) == count) return;
    append(dtype, static_cast<uint64_t>(byte >> at) & ((1u << width) - 1), out);
  }
}

Result<Elements> decode_raw(const Tensor& tensor, std::span<const std::byte> bytes) {
  const int64_t count = tensor.numel();
  const Bytes needed = bytes_of(tensor.dtype, count);
  if (std::cmp_not_equal(bytes.size(), needed.value)) {
    return fail(ErrorCode::format, fmt::format("needs {} bytes, {} are stored", needed.value, bytes.size()),
                place_of(tensor));
  }
  Elements out;
  const size_t width = static_cast<size_t>(bits_of(tensor.dtype)) / 8;
  for (size_t at = 0; at < bytes.size(); at += std::max<size_t>(width, 1)) {
    if (width == 0) {
      append_packed(tensor.dtype, static_cast<uint8_t>(bytes[at]), count, out);
      continue;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, width);
    append(tensor.dtype, bits, out);
  }
  return out;
}

// The typed fields: float_data, int32_data (all that fits into 32 bits, half floats as their bits), int64_data,
// double_data, uint64_data.
Status append_field(const Field& field, const Tensor& tensor, Elements& out) {
  const int64_t count = tensor.numel();
  const auto too_many = [&] {
    return fail(ErrorCode::format, fmt::format("stores more than its {} elements", count), place_of(tensor));
  };
  if (std::cmp_greater(field.payload.size(), 10 * (count + 1))) return too_many();  // no varint has more than 10 bytes
  switch (field.number) {
    case 4: {
      std::vector<float> values;
      UL_TRY_STATUS(field.read(values));
      out.reals.insert(out.reals.end(), values.begin(), values.end());
      break;
    }
    case 10: {
      UL_TRY_STATUS(field.read(out.reals));
      break;
    }
    case 5:
    case 7:
    case 11: {
      std::vector<int64_t> values;
      UL_TRY_STATUS(field.read(values));
      for (const int64_t value : values) {
        if (bits_of(tensor.dtype) < 8) {
          append_packed(tensor.dtype, static_cast<uint8_t>(value), count, out);
        } else {
          append(tensor.dtype, static_cast<uint64_t>(value), out);
        }
      }
      break;
    }
    default:
      return {};
  }
  return std::cmp_greater(out.ints.size() + out.reals.size(), count) ? Status(too_many()) : Status();
}

Result<Elements> read_inside(const Tensor& tensor) {
  std::span<const std::byte> raw;
  bool is_raw = false;
  Elements out;
  UL_TRY_STATUS(Message(tensor.message, tensor.offset).for_each([&](const Field& field) -> Status {
    if (field.number == 9) {
      is_raw = true;
      return field.read(raw);
    }
    return append_field(field, tensor, out);
  }));
  return is_raw ? decode_raw(tensor, raw) : Result<Elements>(std::move(out));
}

Result<Elements> read_outside(const FileModel& model, const Tensor& tensor) {
  UL_TRY(const SharedSource file, open_external(*model.source, tensor.external_file));
  const auto needed = static_cast<uint64_t>(bytes_of(tensor.dtype, tensor.numel()).value);
  const uint64_t stored = tensor.stored_bytes != 0 ? tensor.stored_bytes : needed;  // no length: what it needs
  if (tensor.external_offset > file->size() || stored > file->size() - tensor.external_offset) {
    return cut_off(tensor.external_offset, "external data", stored,
                   file->size() - std::min<uint64_t>(file->size(), tensor.external_offset));
  }
  return decode_raw(tensor, file->bytes().subspan(tensor.external_offset, stored));
}

Result<Elements> read_elements(const FileModel& model, const Tensor& tensor) {
  const int64_t count = tensor.numel();
  if (count > kMaxNumbers) {
    return fail(ErrorCode::limit, fmt::format("has {} elements; at most {} are read", count, kMaxNumbers),
                place_of(tensor));
  }
  if (tensor.sparse || is_complex(tensor.dtype) || tensor.dtype == DType::string || tensor.dtype == DType::unknown) {
    return fail(ErrorCode::unsupported,
                fmt::format("values of {} are not read", tensor.sparse ? "sparse tensors" : name_of(tensor.dtype)),
                place_of(tensor));
  }
  if (count == 0) return Elements();
  if (tensor.payload == Payload::none) return fail(ErrorCode::format, "has no values in this file", place_of(tensor));
  UL_TRY(Elements out, tensor.payload == Payload::external ? read_outside(model, tensor) : read_inside(tensor));
  if (std::cmp_not_equal(out.ints.size() + out.reals.size(), count)) {
    return fail(ErrorCode::format,
                fmt::format("needs {} elements, {} are stored", count, out.ints.size() + out.reals.size()),
                place_of(tensor));
  }
  return out;
}

}  // namespace

Result<std::vector<int64_t>> read_ints(const FileModel& model, const Tensor& tensor) {
  if (is_floating(tensor.dtype)) {
    return fail(ErrorCode::unsupported, fmt::format("holds {} where integers are needed", name_of(tensor.dtype)),
                place_of(tensor));
  }
  UL_TRY(Elements elements, read_elements(model, tensor));
  if (std::cmp_not_equal(elements.ints.size(), tensor.numel())) {
    return fail(ErrorCode::format, "stores its integers in a field for reals", place_of(tensor));
  }
  return std::move(elements.ints);
}

Result<std::vector<double>> read_reals(const FileModel& model, const Tensor& tensor) {
  UL_TRY(Elements elements, read_elements(model, tensor));
  for (const int64_t value : elements.ints) elements.reals.push_back(static_cast<double>(value));
  return std::move(elements.reals);
}

}  // namespace ullage::onnx
