// bigtx: one transaction of a million rows and more: does memory stay flat, how long until the slot is
// confirmed, what does the server spill.
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/running.h"
#include "harness/waiting.h"
#include "scenarios/load_run.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kLimit = absl::Minutes(5);
// After the last event. A relay that confirms only with the next one doesn't.
constexpr absl::Duration kConfirmLimit = absl::Seconds(15);

double Since(MonotonicTime start) { return absl::ToDoubleSeconds(MonotonicNow() - start); }

// When the slot has confirmed `end`; by then the server has noted what it spilled.
absl::StatusOr<nlohmann::json> WaitConfirmed(Bench& bench, const std::string& slot, Lsn end,
                                             MonotonicTime committed) {
  absl::Status failure;
  const bool done = WaitUntil(kConfirmLimit, [&] {
    const absl::StatusOr<std::string> value = bench.postgres->Value(
        absl::StrCat("SELECT confirmed_flush_lsn >= '", FormatLsn(end),
                     "' AS value FROM pg_replication_slots WHERE slot_name = '", slot, "'"));
    failure = value.status();
    return !value.ok() || *value == "t";
  });
  if (!failure.ok()) return failure;
  return done ? nlohmann::json(Since(committed)) : nlohmann::json();
}

absl::StatusOr<nlohmann::json> Spill(Bench& bench, const std::string& slot) {
  ASSIGN_OR_RETURN(
      const PgRows rows,
      bench.postgres->Query(absl::StrCat(
          "SELECT spill_bytes, spill_count FROM pg_stat_replication_slots WHERE slot_name = '",
          slot, "'")));
  if (rows.size() == 0) return nlohmann::json();
  return nlohmann::json{{"bytes", NumberIn(rows, "spill_bytes")},
                        {"times", NumberIn(rows, "spill_count")}};
}

absl::StatusOr<nlohmann::json> OneBigTransaction(Bench& bench, const Target& target) {
  const std::int64_t rows = bench.options.bigtx_rows;
  ASSIGN_OR_RETURN(const Assignment assignment, bench.Prepare(target));
  const absl::Cleanup clean_up = [&] { bench.CleanUp(assignment); };
  ASSIGN_OR_RETURN(const std::unique_ptr<RunningTarget> running,
                   RunningTarget::Start(target, assignment, *bench.postgres));
  RETURN_IF_ERROR(running->WaitReady(absl::Seconds(90)));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Observer> observer,
      Observer::Start(assignment.bootstrap, assignment.topic, bench.options.partitions, rows));
  const Cost begin = running->CostNow();
  RETURN_IF_ERROR(bench.postgres->Execute(InsertEvents(
      "0", absl::StrCat(rows - 1), "k", bench.options.aggregates, bench.options.payload_bytes)));
  const MonotonicTime committed = MonotonicNow();
  ASSIGN_OR_RETURN(const Lsn end, bench.postgres->CurrentLsn());
  WaitUntil(kLimit, [&] { return observer->delivered() > 0 || running->Ended(); });
  const double first = Since(committed);
  const bool at_rest = observer->WaitFor(rows, absl::Seconds(20), kLimit);
  const double last = Since(committed);
  const Cost done = running->CostNow();
  ASSIGN_OR_RETURN(nlohmann::json confirmed, WaitConfirmed(bench, assignment.slot, end, committed));
  RETURN_IF_ERROR(running->Alive());
  running->Stop();
  observer->Stop();
  const Correctness check = Check(
      observer->deliveries(), std::vector<bool>(static_cast<std::size_t>(rows), true),
      [&](std::int64_t number) { return KeyNumber(number, bench.options.aggregates); }, at_rest);
  bench.Judge(absl::StrCat("bigtx by ", target.name()), check);
  nlohmann::json result = {{"target", target.name()},
                           {"rows", rows},
                           {"commit_to_first_seconds", first},
                           {"commit_to_last_seconds", last},
                           {"commit_to_confirmed_seconds", std::move(confirmed)},
                           {"cost", CostBetween(begin, done, rows)},
                           {"usage", running->Series(begin.at)},
                           {"correctness", check.ToJson()}};
  ASSIGN_OR_RETURN(result["spill"], Spill(bench, assignment.slot));
  return result;
}

}  // namespace

absl::StatusOr<nlohmann::json> RunBigTransaction(Bench& bench) {
  ASSIGN_OR_RETURN(const auto targets, bench.TargetsOr({"walpost", "debezium-tuned"}));
  nlohmann::json results = nlohmann::json::array();
  for (const auto& target : targets) {
    if (target->delivers() != Delivers::kToKafka || target->reads() != Reads::kSlot) continue;
    bench.progress.Step("bigtx: " + target->name(), absl::Seconds(70));
    absl::StatusOr<nlohmann::json> result = OneBigTransaction(bench, *target);
    if (!result.ok()) result = Failed(bench, "bigtx", *target, result.status());
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace walpost::bench
