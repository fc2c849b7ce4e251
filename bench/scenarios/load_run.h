// One target under the open-loop load, with every event's lag: what lag, outage and team measure by.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "harness/bench.h"

namespace walpost::bench {

// An interval in which something was done to the broker; seconds since the
// measured part began.
struct FaultMark {
  double from = 0;
  double to = 0;
};

struct LoadRun {
  LoadShape shape;
  // Runs beside the load, from the start of the measured part on; what it returns is marked in the report.
  std::function<absl::StatusOr<std::vector<FaultMark>>(MonotonicTime measured)> meanwhile;
  // Called when the measured part begins and when it ends.
  std::function<absl::Status()> at_begin, at_end;
};

// {"target", "rate", "lag": {"intended_to_consumer", "commit_to_consumer", "commit_to_append"}, "stages", "over_time",
//  "cost", "usage", "correctness", "faults", …}. Errors: of the servers, or of the target's process.
absl::StatusOr<nlohmann::json> MeasureUnderLoad(Bench& bench, const Target& target,
                                                const LoadRun& run);

// The load of options at one rate.
LoadShape ShapeOf(const Options& options, const Rate& rate);

// For a target that failed: what the report shows in its place; the run counts as wrong.
nlohmann::json Failed(Bench& bench, const std::string& scenario, const Target& target,
                      const absl::Status& why);

}  // namespace walpost::bench
