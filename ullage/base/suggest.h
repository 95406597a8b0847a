// "Did you mean …?": the candidate that a mistyped word most likely stands for.
//
//   closest("--bacth", std::array{"--batch", "--device"})   →  "--batch"
//   closest("--zebra", std::array{"--batch", "--device"})   →  ""          // nothing is near enough to be helpful
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ullage {

// Insertions, deletions, substitutions and swaps of neighbours between two words, letters compared without case.
int edit_distance(std::string_view a, std::string_view b);

// Empty when every candidate differs in more than a third of the word. Among equals the first wins.
std::string closest(std::string_view word, std::span<const std::string_view> candidates);
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ullage
