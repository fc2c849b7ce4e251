// drain: how fast a backlog goes, at what cost, for each target from the same position.
#include "absl/cleanup/cleanup.h"
#include "base/status.h"
#include "scenarios/rounds.h"

namespace walpost::bench {

absl::StatusOr<nlohmann::json> RunDrain(Bench& bench) {
  ASSIGN_OR_RETURN(const auto targets,
                   bench.TargetsOr({"reader-poll", "reader-50us", "reader-200us", "pg_recvlogical",
                                    "walpost-null", "walpost", "walpost-bundled", "debezium",
                                    "debezium-tuned", "poll-100-skip-locked"}));
  bench.progress.Step("drain: building the backlog", absl::Seconds(20));
  ASSIGN_OR_RETURN(const Backlog backlog, BuildBacklog(bench));
  const absl::Cleanup drop = [&] { DropBacklog(bench, backlog); };
  ASSIGN_OR_RETURN(nlohmann::json results, DrainInRounds(bench, targets, backlog, "drain"));
  return results;
}

}  // namespace walpost::bench
