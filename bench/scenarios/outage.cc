// outage: the broker is killed under load and comes back; how long until lag is back under 1 s, at what
// memory, with how many duplicates.
#include "base/status.h"
#include "harness/waiting.h"
#include "scenarios/load_run.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kBefore = absl::Seconds(3);

}  // namespace

absl::StatusOr<nlohmann::json> RunOutage(Bench& bench) {
  const absl::Duration outage = bench.options.outage;
  ASSIGN_OR_RETURN(const auto targets,
                   bench.TargetsOr({"walpost", "walpost-bundled", "debezium-tuned"}));
  nlohmann::json results = nlohmann::json::array();
  for (const auto& target : targets) {
    if (target->delivers() != Delivers::kToKafka) continue;
    bench.progress.Step("outage: " + target->name(), outage + absl::Seconds(35));
    LoadRun run{.shape = ShapeOf(bench.options, {500, 1})};
    run.shape.duration = kBefore + outage + absl::Seconds(15);
    const auto since = [](MonotonicTime start) {
      return absl::ToDoubleSeconds(MonotonicNow() - start);
    };
    run.meanwhile = [&](MonotonicTime measured) -> absl::StatusOr<std::vector<FaultMark>> {
      SleepUntil(measured + kBefore);
      FaultMark mark{.from = since(measured)};
      RETURN_IF_ERROR(bench.kafka->Kill());
      SleepUntil(measured + absl::Seconds(mark.from) + outage);
      RETURN_IF_ERROR(bench.kafka->StartAgain());
      mark.to = since(measured);
      return std::vector<FaultMark>{mark};
    };
    absl::StatusOr<nlohmann::json> result = MeasureUnderLoad(bench, *target, run);
    if (!result.ok()) {
      result = Failed(bench, "outage", *target, result.status());
      RETURN_IF_ERROR(bench.kafka->Kill());  // It may be down, or not: what follows needs it up.
      RETURN_IF_ERROR(bench.kafka->StartAgain());
    }
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace walpost::bench
