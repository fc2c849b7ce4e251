// lag: how late an event arrives, at each rate, for each target in turn.
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "scenarios/load_run.h"

namespace walpost::bench {

absl::StatusOr<nlohmann::json> RunLag(Bench& bench) {
  ASSIGN_OR_RETURN(const auto targets,
                   bench.TargetsOr({"walpost", "walpost-bundled", "walpost-traced", "debezium",
                                    "debezium-tuned", "poll-2s-50", "poll-1s-100-claim",
                                    "poll-5s-sweep", "poll-100-skip-locked"}));
  nlohmann::json results = nlohmann::json::array();
  for (const Rate& rate : bench.options.rates) {
    for (const auto& target : targets) {
      if (target->delivers() != Delivers::kToKafka) continue;
      bench.progress.Step(absl::StrCat("lag at ", rate.events_per_second, "/s: ", target->name()),
                          absl::Seconds(25));
      absl::StatusOr<nlohmann::json> result =
          MeasureUnderLoad(bench, *target, {.shape = ShapeOf(bench.options, rate)});
      if (!result.ok()) result = Failed(bench, "lag", *target, result.status());
      (*result)["rate"] = rate.events_per_second;
      (*result)["rows_per_transaction"] = rate.rows_per_transaction;
      results.push_back(*std::move(result));
    }
  }
  return results;
}

}  // namespace walpost::bench
