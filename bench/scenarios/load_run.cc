#include "scenarios/load_run.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/histogram.h"
#include "harness/running.h"
#include "harness/stages.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kReadyLimit = absl::Seconds(90);
// More than the longest pause of a poller.
constexpr absl::Duration kRest = absl::Seconds(12);
constexpr absl::Duration kCatchUp = absl::Seconds(15);

std::int64_t Micros(std::int64_t nanoseconds) { return nanoseconds / 1000; }

// The wall clock's lead over the monotonic one, in nanoseconds.
std::int64_t WallLead() { return absl::ToUnixNanos(absl::Now()) - MonotonicNow().nanoseconds(); }

// Lags of the measured events. One that wasn't seen waited at least until `given_up`, and counts so.
struct Lags {
  Histogram intended_to_consumer, commit_to_consumer, commit_to_append;
  std::map<int, Histogram> by_second;  // intended_to_consumer, by the second of the measured part
  std::int64_t unseen = 0;
};

Lags LagsOf(const Load& load, const std::vector<Sighting>& sightings, MonotonicTime measured,
            std::int64_t given_up, std::int64_t wall_lead) {
  Lags lags;
  for (std::int64_t n = load.first_measured(); n < load.count(); ++n) {
    const EventTimes& event = load.events()[static_cast<std::size_t>(n)];
    const Sighting& sighting = sightings[static_cast<std::size_t>(n)];
    const std::int64_t seen = sighting.times > 0 ? sighting.seen : given_up;
    lags.intended_to_consumer.Record(Micros(seen - event.intended));
    lags.commit_to_consumer.Record(Micros(seen - event.committed));
    const auto second = static_cast<int>((event.intended - measured.nanoseconds()) / 1'000'000'000);
    lags.by_second[second].Record(Micros(seen - event.intended));
    if (sighting.times == 0) {
      ++lags.unseen;
    } else if (sighting.appended > 0) {
      lags.commit_to_append.Record(
          Micros(sighting.appended * 1'000'000 - (event.committed + wall_lead)));
    }
  }
  return lags;
}

nlohmann::json OverTime(const Lags& lags) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [second, histogram] : lags.by_second) {
    rows.push_back({second, histogram.count(), histogram.Percentile(.5), histogram.Percentile(.99),
                    histogram.max()});
  }
  return rows;
}

// Commit to each stage inside a traced relay.
absl::StatusOr<nlohmann::json> StagesOf(const Load& load, const std::string& file) {
  ASSIGN_OR_RETURN(const std::vector<Stages> all, ReadStages(file));
  Histogram received;
  Histogram produced;
  Histogram acknowledged;
  for (const Stages& stages : all) {
    if (stages.number < load.first_measured() || stages.number >= load.count()) continue;
    const std::int64_t committed = load.events()[static_cast<std::size_t>(stages.number)].committed;
    received.Record(Micros(stages.received - committed));
    produced.Record(Micros(stages.produced - committed));
    acknowledged.Record(Micros(stages.acknowledged - committed));
  }
  return nlohmann::json{{"commit_to_received", received.ToJson()},
                        {"commit_to_produced", produced.ToJson()},
                        {"commit_to_acknowledged", acknowledged.ToJson()}};
}

nlohmann::json FaultsOf(const std::vector<FaultMark>& marks) {
  nlohmann::json faults = nlohmann::json::array();
  for (const FaultMark& mark : marks) faults.push_back({mark.from, mark.to});
  return faults;
}

// When the last event that was later than `limit` arrived, in seconds after `since`.
// Null if some event never came.
nlohmann::json RecoveryAfter(const Load& load, const std::vector<Sighting>& sightings,
                             MonotonicTime since, absl::Duration limit) {
  std::int64_t last = since.nanoseconds();
  for (std::int64_t n = 0; n < load.count(); ++n) {
    const Sighting& sighting = sightings[static_cast<std::size_t>(n)];
    if (sighting.times == 0) return {};
    const std::int64_t lag = sighting.seen - load.events()[static_cast<std::size_t>(n)].intended;
    if (lag > absl::ToInt64Nanoseconds(limit)) last = std::max(last, sighting.seen);
  }
  return static_cast<double>(last - since.nanoseconds()) / 1e9;
}

}  // namespace

LoadShape ShapeOf(const Options& options, const Rate& rate) {
  return {.events_per_second = rate.events_per_second,
          .payload_bytes = options.payload_bytes,
          .rows_per_transaction = rate.rows_per_transaction,
          .aggregates = options.aggregates,
          .writers = options.writers,
          .warm_up = options.warm_up,
          .duration = options.duration};
}

nlohmann::json Failed(Bench& bench, const std::string& scenario, const Target& target,
                      const absl::Status& why) {
  bench.wrong.push_back(
      absl::StrCat(scenario, ", ", target.name(), ": ", std::string(why.message())));
  return {{"target", target.name()}, {"error", std::string(why.message())}};
}

absl::StatusOr<nlohmann::json> MeasureUnderLoad(Bench& bench, const Target& target,
                                                const LoadRun& run) {
  LoadShape shape = run.shape;
  shape.warm_up = std::max(shape.warm_up, target.warm_up());
  ASSIGN_OR_RETURN(const Assignment assignment, bench.Prepare(target));
  const absl::Cleanup clean_up = [&] { bench.CleanUp(assignment); };
  ASSIGN_OR_RETURN(const std::unique_ptr<RunningTarget> running,
                   RunningTarget::Start(target, assignment, *bench.postgres));
  RETURN_IF_ERROR(running->WaitReady(kReadyLimit));
  const double ready = absl::ToDoubleSeconds(MonotonicNow() - running->started());
  Load load(bench.postgres->dsn(bench.options.unix_socket), shape);
  ASSIGN_OR_RETURN(const std::unique_ptr<Observer> observer,
                   Observer::Start(assignment.bootstrap, assignment.topic, bench.options.partitions,
                                   load.count()));
  const std::int64_t wall_lead = WallLead();
  load.Start();
  std::vector<FaultMark> marks;
  const MonotonicTime measured = load.started() + shape.warm_up;
  SleepUntil(measured);
  if (run.at_begin) RETURN_IF_ERROR(run.at_begin());
  const Cost begin = running->CostNow();
  const std::int64_t delivered_before = observer->delivered();
  if (run.meanwhile) {
    ASSIGN_OR_RETURN(marks, run.meanwhile(measured));
  }
  SleepUntil(measured + shape.duration);
  const Cost end = running->CostNow();
  const std::int64_t delivered = observer->delivered() - delivered_before;
  if (run.at_end) RETURN_IF_ERROR(run.at_end());
  RETURN_IF_ERROR(load.Join());
  RETURN_IF_ERROR(running->Alive());
  const bool at_rest = observer->WaitFor(load.count(), kRest, kCatchUp);
  const std::int64_t given_up = MonotonicNow().nanoseconds();
  running->Stop();
  observer->Stop();

  std::vector<bool> committed;
  for (const EventTimes& event : load.events()) committed.push_back(event.committed != 0);
  const Correctness check = Check(
      observer->deliveries(), committed, [&](std::int64_t number) { return KeyOf(shape, number); },
      at_rest);
  const Lags lags = LagsOf(load, observer->deliveries().sightings, measured, given_up, wall_lead);
  nlohmann::json result = {{"target", target.name()},
                           {"rate", shape.events_per_second},
                           {"rows_per_transaction", shape.rows_per_transaction},
                           {"payload_bytes", shape.payload_bytes},
                           {"start_to_ready_seconds", ready},
                           {"lag",
                            {{"intended_to_consumer", lags.intended_to_consumer.ToJson()},
                             {"commit_to_consumer", lags.commit_to_consumer.ToJson()},
                             {"commit_to_append", lags.commit_to_append.ToJson()}}},
                           {"unseen", lags.unseen},
                           {"delivered_per_second",
                            static_cast<double>(delivered) / absl::ToDoubleSeconds(shape.duration)},
                           {"over_time", OverTime(lags)},
                           {"cost", CostBetween(begin, end, delivered)},
                           {"usage", running->Series(measured)},
                           {"faults", FaultsOf(marks)},
                           {"correctness", check.ToJson()}};
  if (!marks.empty()) {
    result["recovery_seconds"] =
        RecoveryAfter(load, observer->deliveries().sightings,
                      measured + absl::Seconds(marks.back().to), absl::Seconds(1));
  }
  if (target.name() == "walpost-traced") {
    ASSIGN_OR_RETURN(result["stages"], StagesOf(load, assignment.directory + "/trace"));
  }
  bench.Judge(absl::StrCat(target.name(), " at ", shape.events_per_second, "/s"), check);
  return result;
}

}  // namespace walpost::bench
