// Guarantees under every order of events that the dice find; and mutants, which show that the
// simulation would notice.
#include "simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/log.h"

namespace walpost::simulation {
namespace {

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class SimulationTest : public ::testing::Test {
 protected:
  // Warnings tell of each fault that was asked for.
  SimulationTest() { log::Configure(log::Level::kError, log::Format::kLogfmt); }
};

TEST_F(SimulationTest, TheGuaranteesHold) {
  const std::uint64_t first = FromEnvironment("WALPOST_FIRST_SEED", 1);
  const std::uint64_t count = FromEnvironment("WALPOST_SEEDS", 500);
  Outcome total;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = Simulate(seed);
    ASSERT_EQ(outcome.verdict, "") << "again: tools/dev simulate --seed " << seed;
    total.landed += outcome.landed;
    total.duplicates += outcome.duplicates;
    total.sessions += outcome.sessions;
  }
  std::cout << count << " seeds: " << total.landed << " messages landed, " << total.duplicates
            << " of them duplicates that a fault explains, in " << total.sessions << " sessions\n";
  if (count >= 100) {
    EXPECT_GT(total.duplicates, 0U) << "no fault ever hurt: the simulation tests nothing";
    EXPECT_GT(total.sessions, count);
  }
}

class MutantTest : public SimulationTest, public ::testing::WithParamInterface<int> {};

TEST_P(MutantTest, IsCaught) {
  const auto mutant = static_cast<Mutant>(GetParam());
  constexpr std::uint64_t kMost = 400;
  for (std::uint64_t seed = 1; seed <= kMost; ++seed) {
    const Outcome outcome = Simulate(seed, mutant);
    if (outcome.verdict.empty()) continue;
    std::cout << "seed " << seed << ": " << outcome.verdict << "\n";
    return;
  }
  FAIL() << "not noticed in " << kMost << " seeds";
}

std::string NameOfMutant(const ::testing::TestParamInfo<int>& mutant) {
  return NameOf(static_cast<Mutant>(mutant.param));
}

INSTANTIATE_TEST_SUITE_P(Mutants, MutantTest, ::testing::Range(1, kMutants), &NameOfMutant);

}  // namespace
}  // namespace walpost::simulation
