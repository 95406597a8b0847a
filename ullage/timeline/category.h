// Category: what a block of memory is for. Every byte of every answer has exactly one, and they add up to the total;
// what nobody explained is `other`, a visible row.
//
//   category_name(Category::kv_cache)      -> "kv_cache", the spelling of JSON, CSV and help
//   find_category("activations")           -> Category::activations
//
// It is not who owns the memory: that is the node (layer) of a block, see program.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ullage {

enum class Category : uint8_t {
  parameters,
  buffers,
  gradients,
  optimizer,
  activations,  // kept by autograd for the backward pass
  temporaries,
  inputs,
  workspace,
  communication,
  kv_cache,
  allocator_slack,  // reserved by the allocator, asked for by nobody
  context,          // driver, libraries, loaded code
  other,
};

inline constexpr size_t kCategoryCount = 13;

inline constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "parameters", "buffers",       "gradients", "optimizer",       "activations", "temporaries", "inputs",
    "workspace",  "communication", "kv_cache",  "allocator_slack", "context",     "other"};

constexpr std::string_view category_name(Category category) { return kCategoryNames[static_cast<size_t>(category)]; }

constexpr std::optional<Category> find_category(std::string_view name) {
  for (size_t i = 0; i < kCategoryCount; ++i) {
    if (kCategoryNames[i] == name) return static_cast<Category>(i);
  }
  return std::nullopt;
}

}  // namespace ullage
