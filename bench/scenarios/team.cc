// team: should we leave polling? The team's own rate and size, with its poller, with walpost, and with
// neither: lag, and what each costs the database.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "scenarios/load_run.h"

namespace walpost::bench {
namespace {

// Counters of the whole database; differences are what happened in between.
struct DatabaseLoad {
  std::int64_t statements = 0;
  std::int64_t transactions = 0;
  std::int64_t wal_bytes = 0;
  std::int64_t updates = 0;  // each leaves a dead tuple
};

absl::StatusOr<DatabaseLoad> DatabaseLoadNow(Bench& bench) {
  // Other sessions' numbers are at most a second late.
  ASSIGN_OR_RETURN(
      const PgRows rows,
      bench.postgres->Query(
          "SELECT (SELECT sum(calls) FROM pg_stat_statements) AS statements,"
          "(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS "
          "transactions,"
          "(pg_current_wal_lsn() - '0/0')::bigint AS wal_bytes,"
          "(SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'outbox') AS updates"));
  return DatabaseLoad{NumberIn(rows, "statements"), NumberIn(rows, "transactions"),
                      NumberIn(rows, "wal_bytes"), NumberIn(rows, "updates")};
}

nlohmann::json Difference(const DatabaseLoad& from, const DatabaseLoad& to, double seconds) {
  const auto rate = [&](std::int64_t before, std::int64_t after) {
    return static_cast<double>(after - before) / seconds;
  };
  return {{"statements_per_second", rate(from.statements, to.statements)},
          {"transactions_per_second", rate(from.transactions, to.transactions)},
          {"wal_bytes_per_second", rate(from.wal_bytes, to.wal_bytes)},
          {"dead_tuples_per_second", rate(from.updates, to.updates)}};
}

// The load with no relay at all: what is not any relay's cost.
absl::StatusOr<nlohmann::json> Baseline(Bench& bench, const LoadShape& shape) {
  RETURN_IF_ERROR(bench.MakeTable());
  Load load(bench.postgres->dsn(bench.options.unix_socket), shape);
  load.Start();
  ASSIGN_OR_RETURN(const DatabaseLoad begin, DatabaseLoadNow(bench));
  RETURN_IF_ERROR(load.Join());
  ASSIGN_OR_RETURN(const DatabaseLoad end, DatabaseLoadNow(bench));
  return nlohmann::json{
      {"target", "none"},
      {"database", Difference(begin, end, absl::ToDoubleSeconds(shape.warm_up + shape.duration))}};
}

}  // namespace

absl::StatusOr<nlohmann::json> RunTeam(Bench& bench) {
  RETURN_IF_ERROR(bench.postgres->Execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements"));
  ASSIGN_OR_RETURN(const auto targets, bench.TargetsOr({bench.options.poller, "walpost"}));
  const LoadShape shape = ShapeOf(bench.options, bench.options.rates.front());
  bench.progress.Step("team: no relay", shape.warm_up + shape.duration);
  ASSIGN_OR_RETURN(nlohmann::json baseline, Baseline(bench, shape));
  nlohmann::json results = nlohmann::json::array();
  results.push_back(std::move(baseline));
  for (const auto& target : targets) {
    bench.progress.Step("team: " + target->name(),
                        shape.warm_up + shape.duration + absl::Seconds(15));
    DatabaseLoad begin;
    DatabaseLoad end;
    LoadRun run{.shape = shape};
    run.at_begin = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(begin, DatabaseLoadNow(bench));
      return absl::OkStatus();
    };
    run.at_end = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(end, DatabaseLoadNow(bench));
      return absl::OkStatus();
    };
    absl::StatusOr<nlohmann::json> result = MeasureUnderLoad(bench, *target, run);
    if (result.ok()) {
      const double seconds = absl::ToDoubleSeconds(shape.duration);
      (*result)["database"] = Difference(begin, end, seconds);
    } else {
      result = Failed(bench, "team", *target, result.status());
    }
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace walpost::bench
