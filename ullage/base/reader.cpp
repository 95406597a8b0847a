#include "ullage/base/reader.h"

#include <fmt/format.h>

namespace ullage {

std::string byte_place(uint64_t offset) { return fmt::format("byte {}", offset); }

tl::unexpected<Error> cut_off(uint64_t offset, std::string_view what, uint64_t needed, uint64_t remaining) {
  return fail(ErrorCode::format,
              fmt::format("{} needs {} byte{}, {} remain{}", what, needed, needed == 1 ? "" : "s", remaining,
                          remaining == 1 ? "s" : ""),
              byte_place(offset), "the file may be cut off or damaged");
}

}  // namespace ullage
