// For messages that guess what was meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace walpost {

// Damerau-Levenshtein with adjacent swaps: how many slips of a finger lie between two names.
std::size_t EditDistance(std::string_view a, std::string_view b);

// A suggestion further away than this would be a guess.
bool IsNear(std::size_t distance, std::string_view name);

}  // namespace walpost
