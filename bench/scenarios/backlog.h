// One backlog that targets drain in turn, each from a copy of the same slot: what drain and limits
// measure by.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "harness/bench.h"

namespace walpost::bench {

struct Backlog {
  std::string slot;  // before the first event
  Lsn end;           // behind the last one
  std::int64_t events = 0;
  int aggregates = 0;  // keys by KeyNumber()
};

// Half of it single-row transactions, the rest in transactions of 50, and one of a tenth of all.
absl::StatusOr<Backlog> BuildBacklog(Bench& bench);
void DropBacklog(Bench& bench, const Backlog& backlog);

// {"target", "events", "seconds", "events_per_second", "warm_events_per_second", "start_to_first_seconds",
//  "delivered_over_time": [[seconds, events], …], "cost", "usage", "correctness"}.
absl::StatusOr<nlohmann::json> DrainOnce(Bench& bench, const Target& target,
                                         const Backlog& backlog);

}  // namespace walpost::bench
