// Counter: which of the allocator's four amounts a figure speaks of. Every figure printed names its counter.
//
//   requested <= allocated <= active <= reserved      at any moment (requested may lag allocated while a free is
//   pending)
//
// Bytes the driver shows for the process (`device`) are not here: they add context and libraries, which no event
// changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ullage/base/bytes.h"

namespace ullage {

enum class Counter : uint8_t {
  requested,  // what the program asked for, until the free is complete
  allocated,  // the same after the allocator's rounding, until the free is requested
  active,     // allocated, plus blocks freed but still waited for by a stream
  reserved,   // segments taken from the driver
};

inline constexpr size_t kCounterCount = 4;
inline constexpr std::array<std::string_view, kCounterCount> kCounterNames = {"requested", "allocated", "active",
                                                                              "reserved"};
constexpr std::string_view counter_name(Counter counter) { return kCounterNames[static_cast<size_t>(counter)]; }

// One amount for each counter: a moment's values, or each counter's own maximum over a while.
struct CounterValues {
  Bytes requested;
  Bytes allocated;
  Bytes active;
  Bytes reserved;

  constexpr Bytes at(Counter counter) const {
    switch (counter) {
      case Counter::requested:
        return requested;
      case Counter::allocated:
        return allocated;
      case Counter::active:
        return active;
      case Counter::reserved:
        break;
    }
    return reserved;
  }
  constexpr bool operator==(const CounterValues&) const = default;
};

constexpr CounterValues max_each(const CounterValues& a, const CounterValues& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated), std::max(a.active, b.active),
          std::max(a.reserved, b.reserved)};
}

}  // namespace ullage
