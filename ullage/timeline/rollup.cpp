#include "ullage/timeline/rollup.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace ullage {

void Rollup::add(const LabelPath& path, Bytes bytes, int64_t count) {
  uint32_t at = 0;
  nodes_[0].bytes += bytes;
  nodes_[0].count += count;
  for (const std::string_view label : path) {
    at = child(at, label);
    nodes_[at].bytes += bytes;
    nodes_[at].count += count;
  }
  nodes_[at].self += bytes;
  nodes_[at].self_count += count;
}

uint32_t Rollup::child(uint32_t parent, std::string_view label) {
  const auto found = nodes_[parent].children.find(label);
  if (found != nodes_[parent].children.end()) return found->second;
  const auto made = static_cast<uint32_t>(nodes_.size());
  nodes_.emplace_back();
  nodes_[parent].children.emplace(label, made);
  return made;
}

void Rollup::merge(uint32_t into, const Rollup& other, uint32_t from, int sign) {
  const Node& source = other.nodes_[from];
  nodes_[into].bytes += source.bytes * sign;
  nodes_[into].self += source.self * sign;
  nodes_[into].count += source.count * sign;
  nodes_[into].self_count += source.self_count * sign;
  for (const auto& [label, index] : source.children) merge(child(into, label), other, index, sign);
}

Rollup& Rollup::operator+=(const Rollup& other) {
  const Rollup copy = other;  // a += a must not walk what it grows
  return merge(0, copy, 0, 1), *this;
}

Rollup& Rollup::operator-=(const Rollup& other) {
  const Rollup copy = other;
  return merge(0, copy, 0, -1), *this;
}

const Rollup::Node* Rollup::find(const LabelPath& path) const {
  uint32_t at = 0;
  for (const std::string_view label : path) {
    const auto found = nodes_[at].children.find(label);
    if (found == nodes_[at].children.end()) return nullptr;
    at = found->second;
  }
  return &nodes_[at];
}

Bytes Rollup::bytes_at(const LabelPath& path) const {
  const Node* node = find(path);
  return node == nullptr ? Bytes(0) : node->bytes;
}

std::vector<RollupRow> Rollup::top(const LabelPath& path, size_t limit) const {
  std::vector<RollupRow> rows;
  const Node* node = find(path);
  if (node == nullptr) return rows;
  for (const auto& [label, index] : node->children) {
    rows.push_back({label, nodes_[index].bytes, nodes_[index].count});
  }
  if (!rows.empty() && (node->self != Bytes(0) || node->self_count != 0)) {
    rows.push_back({"[self]", node->self, node->self_count, false});
  }
  std::sort(rows.begin(), rows.end(), [](const RollupRow& a, const RollupRow& b) {
    const int64_t left = std::abs(a.bytes.value), right = std::abs(b.bytes.value);
    return left != right ? left > right : a.label < b.label;
  });
  if (limit == 0 || rows.size() <= limit) return rows;
  RollupRow rest{fmt::format("[{} others]", rows.size() - limit), Bytes(0), 0, false};
  for (size_t i = limit; i < rows.size(); ++i) {
    rest.bytes += rows[i].bytes;
    rest.count += rows[i].count;
  }
  rows.resize(limit);
  rows.push_back(std::move(rest));
  return rows;
}

Status Rollup::check_conservation(Bytes expected) const {
  for (const Node& node : nodes_) {
    Bytes sum = node.self;
    for (const auto& [label, index] : node.children) sum += nodes_[index].bytes;
    if (sum != node.bytes) {
      return fail(ErrorCode::format, fmt::format("parts of {} B are rolled up to {} B", sum.value, node.bytes.value));
    }
  }
  if (total() != expected) {
    return fail(ErrorCode::format,
                fmt::format("the parts add up to {} B, the whole is {} B", total().value, expected.value));
  }
  return {};
}

}  // namespace ullage
