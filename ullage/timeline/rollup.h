// Rollup: bytes added up a hierarchy of labels. A value with + and -, so a difference is the same tree with two
// columns.
//
//   Rollup rollup;
//   rollup.add({"activations", "layer1", "conv1"}, MiB(6));
//   rollup.add({"parameters", "fc"}, MiB(8));
//   rollup.total();                                        // 14 MiB, always the sum of what was added
//   for (const RollupRow& row : rollup.top({}, 5)) ...     // children of the root, largest first, then "[3 others]"
//
//   (root) 14 MiB
//   ├── parameters 8 MiB
//   │   └── fc 8 MiB
//   └── activations 6 MiB
//       └── layer1 6 MiB
//           └── conv1 6 MiB
//
// A parent's bytes are those of its children plus what was added to the parent itself; that rest is a row of its own
// ("[self]") in top(), so rows of one level always add up to their parent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"

namespace ullage {

struct RollupRow {
  std::string label;
  Bytes bytes;
  int64_t count = 0;     // blocks (or whatever was added) below this row
  bool is_label = true;  // false for "[self]" and "[n others]", which cannot be opened further
};

using LabelPath = std::vector<std::string_view>;

class Rollup {
 public:
  Rollup() : nodes_(1) {}

  void add(const LabelPath& path, Bytes bytes, int64_t count = 1);
  Rollup& operator+=(const Rollup& other);
  Rollup& operator-=(const Rollup& other);  // labels of either side stay, with negative bytes where `other` had more
  friend Rollup operator+(Rollup a, const Rollup& b) { return a += b; }
  friend Rollup operator-(Rollup a, const Rollup& b) { return a -= b; }

  Bytes total() const { return nodes_[0].bytes; }
  // Bytes at a label; 0 when it does not exist.
  Bytes bytes_at(const LabelPath& path) const;

  // Rows below `path`, largest absolute bytes first, then by label. With `limit` > 0, rows beyond it become one
  // "[n others]" row. Empty when the path does not exist or has nothing below it.
  std::vector<RollupRow> top(const LabelPath& path = {}, size_t limit = 0) const;

  // Every parent is the sum of its parts, and the root is `expected`.
  Status check_conservation(Bytes expected) const;

 private:
  struct Node {
    Bytes bytes;  // with everything below
    Bytes self;   // added to this label itself
    int64_t count = 0;
    int64_t self_count = 0;
    std::map<std::string, uint32_t, std::less<>> children;
  };

  const Node* find(const LabelPath& path) const;
  uint32_t child(uint32_t parent, std::string_view label);
  void merge(uint32_t into, const Rollup& other, uint32_t from, int sign);

  std::vector<Node> nodes_;  // 0 is the root
};

}  // namespace ullage
