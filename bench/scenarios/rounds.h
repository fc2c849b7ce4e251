// Drains of several targets, interleaved, and what their rounds say together.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "harness/bench.h"
#include "scenarios/backlog.h"

namespace walpost::bench {

// Each target once a round, so that what the machine does meanwhile meets all alike. An array with one
// object a target: the last round's, with "rounds" (events/s of each), medians over them, and "of_limit":
// the ratio to the fastest target that reads and drops, if there is one.
absl::StatusOr<nlohmann::json> DrainInRounds(Bench& bench,
                                             const std::vector<std::unique_ptr<Target>>& targets,
                                             const Backlog& backlog, const std::string& scenario);

}  // namespace walpost::bench
