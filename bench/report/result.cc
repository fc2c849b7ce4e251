#include "report/result.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace walpost::bench {
namespace {

using nlohmann::json;

std::string Ms(const json& us) { return absl::StrFormat("%.2f", us.get<double>() / 1000); }
std::string Mb(const json& bytes) { return absl::StrFormat("%.0f", bytes.get<double>() / 1e6); }
std::string Percent(const json& share) {
  return absl::StrFormat("%.1f", share.get<double>() * 100);
}
std::string Fixed(const json& value, int digits) {
  return value.is_number() ? absl::StrFormat("%.*f", digits, value.get<double>()) : "";
}
std::string Ratio(double value) { return absl::StrFormat("%.2f", value); }

std::string Verdict(const json& row) {
  if (!row.contains("correctness")) return "";
  const json& check = row["correctness"];
  if (!check["ok"].get<bool>()) return "WRONG";
  const auto behind = check["behind"].get<std::int64_t>();
  return behind > 0 ? absl::StrCat("behind by ", behind) : "ok";
}

const json* FindRow(const json& rows, const std::string& target) {
  for (const json& row : rows) {
    if (row.value("target", "") == target && !row.contains("error")) return &row;
  }
  return nullptr;
}

// What others are compared with.
std::string Reference(const json& rows) {
  for (const char* name : {"walpost-bundled", "walpost"}) {
    if (FindRow(rows, name) != nullptr) return name;
  }
  return "";
}

std::vector<std::string> ErrorRow(const json& row, std::size_t width) {
  std::vector<std::string> cells = {row["target"].get<std::string>(), "failed: see the log above"};
  cells.resize(width);
  return cells;
}

// What the producer alone takes at a rate: the last part of every lag.
void AddLimit(const json& limits, const json& base, TitledTable& table) {
  for (const json& row : limits.value("produce", json::array())) {
    if (row["rate"] != base["rate"]) continue;
    const json& alone = row["produce_to_consumer"];
    const json& lag = base["lag"]["intended_to_consumer"];
    const auto ratio = [&](const char* percentile) {
      return Ratio(alone[percentile].get<double>() / std::max(1.0, lag[percentile].get<double>()));
    };
    table.rows.push_back({"producer alone (limit)", ratio("p50"), ratio("p99"), Ms(alone["p50"]),
                          Ms(alone["p90"]), Ms(alone["p99"]), Ms(alone["p999"]), Ms(alone["max"]),
                          "", "", "", ""});
  }
}

std::vector<TitledTable> LagTables(const json& rows, const json& limits) {
  std::vector<TitledTable> tables;
  std::vector<std::string> rates;
  for (const json& row : rows) {
    if (std::find(rates.begin(), rates.end(), RateOf(row)) == rates.end())
      rates.push_back(RateOf(row));
  }
  for (const std::string& rate : rates) {
    json of_rate = json::array();
    for (const json& row : rows) {
      if (RateOf(row) == rate) of_rate.push_back(row);
    }
    const std::string reference = Reference(of_rate);
    const json* base = FindRow(of_rate, reference);
    TitledTable table{
        .title = "Lag at " + rate,
        .note = absl::StrCat(
            "Milliseconds from the moment at which the transaction was to begin until an "
            "independent consumer has the event. Ratios are to ",
            reference, "."),
        .rows = {{"target", "p50 ratio", "p99 ratio", "p50", "p90", "p99", "p99.9", "max", "CPU %",
                  "server CPU %", "peak MB", "events"}}};
    for (const json& row : of_rate) {
      if (row.contains("error")) {
        table.rows.push_back(ErrorRow(row, 12));
        continue;
      }
      const json& lag = row["lag"]["intended_to_consumer"];
      const auto ratio = [&](const char* percentile) {
        const double other =
            base == nullptr ? 0 : (*base)["lag"]["intended_to_consumer"][percentile].get<double>();
        return other > 0 ? Ratio(lag[percentile].get<double>() / other) : "";
      };
      table.rows.push_back(
          {row["target"], ratio("p50"), ratio("p99"), Ms(lag["p50"]), Ms(lag["p90"]),
           Ms(lag["p99"]), Ms(lag["p999"]), Ms(lag["max"]), Percent(row["cost"]["cpu_share"]),
           Percent(row["cost"]["server_cpu_share"]), Mb(row["cost"]["peak_bytes"]), Verdict(row)});
    }
    if (base != nullptr) AddLimit(limits, *base, table);
    tables.push_back(std::move(table));
  }
  TitledTable stages{
      .title = "Stages of a traced relay",
      .note =
          "Milliseconds from the return of COMMIT: received by the relay, handed to the producer, "
          "acknowledged by the broker, read by the consumer.",
      .rows = {{"rate", "stage", "p50", "p90", "p99", "p99.9", "max"}}};
  for (const json& row : rows) {
    if (!row.contains("stages")) continue;
    json all = row["stages"];
    const auto add = [&](const char* name, const json& histogram) {
      stages.rows.push_back({RateOf(row), name, Ms(histogram["p50"]), Ms(histogram["p90"]),
                             Ms(histogram["p99"]), Ms(histogram["p999"]), Ms(histogram["max"])});
    };
    add("received", all["commit_to_received"]);
    add("produced", all["commit_to_produced"]);
    add("acknowledged", all["commit_to_acknowledged"]);
    add("consumer", row["lag"]["commit_to_consumer"]);
  }
  if (stages.rows.size() > 1) tables.push_back(std::move(stages));
  return tables;
}

TitledTable DrainTable(const std::string& title, const json& rows) {
  const std::string reference = Reference(rows);
  const json* base = FindRow(rows, reference);
  TitledTable table{
      .title = title,
      .note = absl::StrCat(
          "Events/s from the first event to the last (medians of the rounds); for targets that "
          "deliver nothing from their start to the last confirmation. ",
          reference.empty() ? "" : absl::StrCat("Ratios are to ", reference, "; "),
          "the limit is the fastest client that reads and drops. Warm: without the first quarter."),
      .rows = {{"target", "ratio", "of limit", "events/s", "warm events/s", "CPU us/event",
                "server CPU us/event", "peak MB", "start to first s", "rounds", "events"}}};
  for (const json& row : rows) {
    if (row.contains("error")) {
      table.rows.push_back(ErrorRow(row, 11));
      continue;
    }
    const double rate = row["events_per_second"].get<double>();
    const double other = base == nullptr ? 0 : (*base)["events_per_second"].get<double>();
    std::string rounds;
    for (const json& round : row["rounds"])
      absl::StrAppend(&rounds, rounds.empty() ? "" : " ", Fixed(round, 0));
    table.rows.push_back(
        {row["target"], other > 0 ? Ratio(rate / other) : "",
         Fixed(row.value("of_limit", json()), 2), Fixed(rate, 0),
         Fixed(row["warm_events_per_second"], 0), Fixed(row["cost"]["cpu_us_per_event"], 1),
         Fixed(row["cost"]["server_cpu_us_per_event"], 1), Mb(row["cost"]["peak_bytes"]),
         Fixed(row["start_to_first_seconds"], 2), rounds,
         row["complete"].get<bool>() || Verdict(row) == "WRONG" ? Verdict(row)
                                                                : "not done in time"});
  }
  return table;
}

std::vector<TitledTable> LimitTables(const json& limits) {
  TitledTable parts{
      .title = "The parts alone",
      .note = "Milliseconds for the producer; no relay and no Postgres between it and the broker.",
      .rows = {{"part", "p50", "p99", "p99.9", "per second"}}};
  parts.rows.push_back(
      {"commits, one event each", "", "", "", Fixed(limits["commits"]["commits_per_second"], 0)});
  parts.rows.push_back({"produce a backlog", "", "", "",
                        Fixed(limits["produce_backlog"]["messages_per_second"], 0)});
  for (const json& row : limits["produce"]) {
    for (const char* what : {"produce_to_ack", "produce_to_consumer"}) {
      parts.rows.push_back({absl::StrFormat("%s at %g/s", what, row["rate"].get<double>()),
                            Ms(row[what]["p50"]), Ms(row[what]["p99"]), Ms(row[what]["p999"]), ""});
    }
  }
  return {parts, DrainTable("Reading clients, TCP", limits["reading_tcp"]),
          DrainTable("Reading clients, Unix socket", limits["reading_unix"])};
}

TitledTable OutageTable(const json& rows) {
  TitledTable table{
      .title = "Broker killed under load",
      .note = "Recovery: seconds after the broker was back until no event is later than 1 s.",
      .rows = {{"target", "recovery s", "peak MB", "duplicates", "max lag ms", "events"}}};
  for (const json& row : rows) {
    if (row.contains("error")) {
      table.rows.push_back(ErrorRow(row, 6));
      continue;
    }
    table.rows.push_back({row["target"], Fixed(row["recovery_seconds"], 2),
                          Mb(row["cost"]["peak_bytes"]), Fixed(row["correctness"]["duplicates"], 0),
                          Ms(row["lag"]["intended_to_consumer"]["max"]), Verdict(row)});
  }
  return table;
}

TitledTable BigTransactionTable(const json& rows) {
  TitledTable table{.title = "One large transaction",
                    .note = "Seconds after COMMIT returned.",
                    .rows = {{"target", "rows", "first s", "last s", "confirmed s", "peak MB",
                              "spilled MB", "events"}}};
  for (const json& row : rows) {
    if (row.contains("error")) {
      table.rows.push_back(ErrorRow(row, 8));
      continue;
    }
    table.rows.push_back(
        {row["target"], Fixed(row["rows"], 0), Fixed(row["commit_to_first_seconds"], 2),
         Fixed(row["commit_to_last_seconds"], 2), Fixed(row["commit_to_confirmed_seconds"], 2),
         Mb(row["cost"]["peak_bytes"]), row["spill"].is_null() ? "" : Mb(row["spill"]["bytes"]),
         Verdict(row)});
  }
  return table;
}

TitledTable IdleTable(const json& rows) {
  TitledTable table{
      .title = "Idle outbox",
      .note =
          "CPU of one core, first with nothing happening, then with neighbour tables "
          "being written; "
          "the most WAL that the slot kept meanwhile (from restart_lsn), and that was not "
          "confirmed.",
      .rows = {{"target", "quiet CPU %", "busy CPU %", "retained MB", "unconfirmed MB"}}};
  for (const json& row : rows) {
    if (row.contains("error")) {
      table.rows.push_back(ErrorRow(row, 5));
      continue;
    }
    table.rows.push_back(
        {row["target"], Fixed(row["quiet_cost"]["cpu_share"].get<double>() * 100, 2),
         Fixed(row["busy_cost"]["cpu_share"].get<double>() * 100, 2),
         absl::StrFormat("%.2f", row["retained_bytes_max"].get<double>() / 1e6),
         absl::StrFormat("%.2f", row["unconfirmed_bytes_max"].get<double>() / 1e6)});
  }
  return table;
}

TitledTable TeamTable(const json& rows) {
  TitledTable table{
      .title = "Should we leave polling?",
      .note = "The database's counters with each relay; the first row is the load alone.",
      .rows = {{"target", "delivered/s", "lag p50 ms", "lag p99 ms", "statements/s",
                "transactions/s", "WAL kB/s", "dead tuples/s", "backend CPU %", "relay CPU %",
                "relay peak MB", "events"}}};
  for (const json& row : rows) {
    if (row.contains("error")) {
      table.rows.push_back(ErrorRow(row, 12));
      continue;
    }
    const json& database = row["database"];
    const bool relay = row.contains("lag");  // The first row has none.
    const auto of_relay = [&](const std::function<std::string()>& text) {
      return relay ? text() : "";
    };
    const auto lag = [&](const char* percentile) {
      return Ms(row["lag"]["intended_to_consumer"][percentile]);
    };
    table.rows.push_back(
        {row["target"], of_relay([&] { return Fixed(row["delivered_per_second"], 0); }),
         of_relay([&] { return lag("p50"); }), of_relay([&] { return lag("p99"); }),
         Fixed(database["statements_per_second"], 0), Fixed(database["transactions_per_second"], 0),
         Fixed(database["wal_bytes_per_second"].get<double>() / 1000, 0),
         Fixed(database["dead_tuples_per_second"], 0),
         of_relay([&] { return Percent(row["cost"]["server_cpu_share"]); }),
         of_relay([&] { return Percent(row["cost"]["cpu_share"]); }),
         of_relay([&] { return Mb(row["cost"]["peak_bytes"]); }), Verdict(row)});
  }
  return table;
}

std::string TextTable(const TitledTable& table) {
  std::vector<std::size_t> widths(table.rows[0].size());
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = absl::StrCat("\n", table.title, "\n");
  for (const auto& row : table.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, "  ", i == 0 ? row[i] + padding : padding + row[i]);
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<json> ReadResult(const std::string& file) {
  std::ifstream input(file);
  json result = json::parse(input, nullptr, false);
  const auto has = [&](const char* key) { return result.is_object() && result.contains(key); };
  if (!has("schema") || !has("host") || !has("options") || !has("scenarios")) {
    return WithHint(Error(absl::StatusCode::kInvalidArgument,
                          absl::StrCat(file, " is not a result of walpost-bench")),
                    "name a result.json that `walpost-bench run` wrote");
  }
  if (result["schema"] != kResultSchema) {
    return Error(absl::StatusCode::kInvalidArgument,
                 absl::StrCat(file, " has schema ", result["schema"].dump(),
                              "; this version knows ", kResultSchema));
  }
  return result;
}

std::string RateOf(const json& row) {
  const int rows = row.value("rows_per_transaction", 1);
  const std::string rate = absl::StrFormat("%g events/s", row["rate"].get<double>());
  return rows == 1 ? rate : absl::StrCat(rate, ", ", rows, " a transaction");
}

std::vector<TitledTable> TablesOf(const json& result) {
  std::vector<TitledTable> tables;
  const json& scenarios = result["scenarios"];
  const auto has = [&](const char* name) { return scenarios.contains(name); };
  if (has("team")) tables.push_back(TeamTable(scenarios["team"]));
  if (has("lag")) {
    for (TitledTable& table :
         LagTables(scenarios["lag"], scenarios.value("limits", json::object())))
      tables.push_back(std::move(table));
  }
  if (has("drain")) tables.push_back(DrainTable("Drain of a backlog", scenarios["drain"]));
  if (has("limits")) {
    for (TitledTable& table : LimitTables(scenarios["limits"])) tables.push_back(std::move(table));
  }
  if (has("outage")) tables.push_back(OutageTable(scenarios["outage"]));
  if (has("bigtx")) tables.push_back(BigTransactionTable(scenarios["bigtx"]));
  if (has("idle")) tables.push_back(IdleTable(scenarios["idle"]));
  return tables;
}

std::string TextSummary(const json& result) {
  std::string text;
  for (const TitledTable& table : TablesOf(result)) absl::StrAppend(&text, TextTable(table));
  return text;
}

}  // namespace walpost::bench
