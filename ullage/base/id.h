// Id<Tag>: a 32-bit index into one table; 0 means "none", so a default id is safe to test and a storage id can never be
// passed where a node id is meant. IdVector<Tag, T> is the table: slot 0 is never used.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ullage {

template <class Tag>
struct Id {
  uint32_t index = 0;

  constexpr explicit operator bool() const { return index != 0; }
  constexpr auto operator<=>(const Id&) const = default;
};

template <class Tag, class T>
class IdVector {
 public:
  IdVector() : items_(1) {}
  Id<Tag> push(T item) {
    items_.push_back(std::move(item));
    return Id<Tag>{static_cast<uint32_t>(items_.size() - 1)};
  }
  T& operator[](Id<Tag> id) { return items_[id.index]; }
  const T& operator[](Id<Tag> id) const { return items_[id.index]; }
  size_t size() const { return items_.size() - 1; }
  bool contains(Id<Tag> id) const { return id.index != 0 && id.index < items_.size(); }
  Id<Tag> first() const { return Id<Tag>{1}; }
  // Ranges over the items, slot 0 left out; id of the i-th is i + 1.
  auto begin() { return items_.begin() + 1; }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin() + 1; }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace ullage

template <class Tag>
struct std::hash<ullage::Id<Tag>> {
  size_t operator()(ullage::Id<Tag> id) const noexcept { return id.index; }
};
