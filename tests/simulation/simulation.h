// One run of everything from one seed.
#pragma once

#include <cstdint>
#include <string>

#include "ports.h"

namespace walpost::simulation {

// What may go wrong in a run; without anything there must be no duplicate at all.
enum class Trouble : std::uint8_t {
  kNone,
  kStream,  // streams cut and servers crashed while the relay lives and the broker answers:
            // still no duplicate
  kSink,    // producers that break, and poison
  kAll,     // and relays that are killed
};
Trouble TroubleOf(std::uint64_t seed);

struct Outcome {
  std::string verdict;  // "" if all guarantees held
  std::uint64_t landed = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t sessions = 0;
};

Outcome Simulate(std::uint64_t seed, Mutant mutant = Mutant::kNone);

}  // namespace walpost::simulation
