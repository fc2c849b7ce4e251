// All chance of a simulation comes from one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace walpost::simulation {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  // 0 … count - 1. Requires: count > 0.
  std::size_t Below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  bool Percent(unsigned chance) { return Below(100) < chance; }
  // low … high
  std::size_t Between(std::size_t low, std::size_t high) { return low + Below(high - low + 1); }

 private:
  std::mt19937_64 random_;
};

}  // namespace walpost::simulation
