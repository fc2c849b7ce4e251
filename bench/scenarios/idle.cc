// idle: the outbox rests. First nothing at all happens (what does waiting cost?), then neighbour tables
// are written (how much WAL does the slot keep, though there is nothing to deliver?).
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/running.h"
#include "harness/waiting.h"
#include "scenarios/load_run.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kWriteEvery = absl::Milliseconds(50);
constexpr const char* kNeighbour =
    "DROP TABLE IF EXISTS neighbour; CREATE TABLE neighbour (n bigint, text text)";
constexpr const char* kWrite =
    "INSERT INTO neighbour SELECT n, repeat('x', 200) FROM generate_series(1, 100) n";

absl::StatusOr<nlohmann::json> Kept(Bench& bench, const std::string& slot, MonotonicTime start) {
  ASSIGN_OR_RETURN(const PgRows rows,
                   bench.postgres->Query(absl::StrCat(
                       "SELECT (pg_current_wal_lsn() - restart_lsn)::bigint AS retained,"
                       "(pg_current_wal_lsn() - confirmed_flush_lsn)::bigint AS unconfirmed "
                       "FROM pg_replication_slots WHERE slot_name = '",
                       slot, "'")));
  return nlohmann::json{absl::ToDoubleSeconds(MonotonicNow() - start), NumberIn(rows, "retained"),
                        NumberIn(rows, "unconfirmed")};
}

absl::StatusOr<nlohmann::json> BesideNeighbours(Bench& bench, const std::string& slot) {
  nlohmann::json over_time = nlohmann::json::array();
  const MonotonicTime start = MonotonicNow();
  MonotonicTime next_look = start;
  for (MonotonicTime due = start; due < start + bench.options.idle; due = due + kWriteEvery) {
    SleepUntil(due);
    RETURN_IF_ERROR(bench.postgres->Execute(kWrite));
    if (due < next_look) continue;
    next_look = next_look + absl::Seconds(1);
    ASSIGN_OR_RETURN(nlohmann::json kept, Kept(bench, slot, start));
    over_time.push_back(std::move(kept));
  }
  return over_time;
}

absl::StatusOr<nlohmann::json> Idle(Bench& bench, const Target& target) {
  RETURN_IF_ERROR(bench.postgres->Execute(kNeighbour));
  ASSIGN_OR_RETURN(const Assignment assignment, bench.Prepare(target));
  const absl::Cleanup clean_up = [&] { bench.CleanUp(assignment); };
  ASSIGN_OR_RETURN(const std::unique_ptr<RunningTarget> running,
                   RunningTarget::Start(target, assignment, *bench.postgres));
  RETURN_IF_ERROR(running->WaitReady(absl::Seconds(90)));
  SleepUntil(MonotonicNow() + std::max(bench.options.warm_up, target.warm_up()));
  const Cost quiet = running->CostNow();
  SleepUntil(MonotonicNow() + bench.options.idle / 2);
  const Cost busy = running->CostNow();
  ASSIGN_OR_RETURN(nlohmann::json over_time, BesideNeighbours(bench, assignment.slot));
  const Cost end = running->CostNow();
  RETURN_IF_ERROR(running->Alive());
  running->Stop();
  std::int64_t retained = 0;
  std::int64_t unconfirmed = 0;
  for (const nlohmann::json& row : over_time) {
    retained = std::max(retained, row[1].get<std::int64_t>());
    unconfirmed = std::max(unconfirmed, row[2].get<std::int64_t>());
  }
  return nlohmann::json{{"target", target.name()},
                        {"quiet_cost", CostBetween(quiet, busy, 0)},
                        {"busy_cost", CostBetween(busy, end, 0)},
                        {"kept_over_time", std::move(over_time)},
                        {"retained_bytes_max", retained},
                        {"unconfirmed_bytes_max", unconfirmed}};
}

}  // namespace

absl::StatusOr<nlohmann::json> RunIdle(Bench& bench) {
  ASSIGN_OR_RETURN(const auto targets,
                   bench.TargetsOr({"walpost", "walpost-bundled", "debezium-tuned"}));
  nlohmann::json results = nlohmann::json::array();
  for (const auto& target : targets) {
    if (target->reads() != Reads::kSlot || target->delivers() != Delivers::kToKafka) continue;
    bench.progress.Step("idle: " + target->name(), bench.options.idle * 1.5 + absl::Seconds(10));
    absl::StatusOr<nlohmann::json> result = Idle(bench, *target);
    if (!result.ok()) result = Failed(bench, "idle", *target, result.status());
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace walpost::bench
