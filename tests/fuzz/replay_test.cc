// The targets without a fuzzer: seeds, their truncations, and mutations from a fixed seed.
#include <gtest/gtest.h>

#include <random>

#include "targets.h"

namespace walpost::fuzz {
namespace {

class ReplayTest : public ::testing::TestWithParam<int> {};

std::string Mutated(std::string text, std::mt19937_64& random) {
  for (std::size_t changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 2:
        text.erase(at, 1 + random() % 8);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), 1 + random() % 16));
    }
  }
  return text;
}

TEST_P(ReplayTest, SurvivesAnyBytes) {
  const Target& target = Targets()[static_cast<std::size_t>(GetParam())];
  std::mt19937_64 random(1729);
  const std::vector<std::string> seeds = target.seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    target.run(seed);
    const std::size_t step = 1 + seed.size() / 200;
    for (std::size_t size = 0; size < seed.size(); size += step) target.run(seed.substr(0, size));
  }
  const int rounds = std::string_view(target.name) == "config" ? 300 : 4000;
  for (int i = 0; i < rounds; ++i) target.run(Mutated(seeds[random() % seeds.size()], random));
}

std::string NameOfTarget(const ::testing::TestParamInfo<int>& target) {
  return Targets()[static_cast<std::size_t>(target.param)].name;
}
INSTANTIATE_TEST_SUITE_P(Targets, ReplayTest, ::testing::Range(0, 5), &NameOfTarget);

}  // namespace
}  // namespace walpost::fuzz
