#include "preflight.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace walpost {
namespace {

constexpr int kOldestServer = 14;
constexpr int kNewestServer = 18;

// Minor versions before these could lose changes of a table that was just added to a publication.
constexpr int kFixedMinors[][2] = {{14, 18}, {15, 13}, {16, 9}, {17, 5}};

CheckPoint JudgeVersion(const capture::ServerFacts& server) {
  const int major = server.version / 10000;
  const int minor = server.version % 10000;
  CheckPoint point{Mark::kGood, absl::StrCat("Postgres ", major, ".", minor)};
  if (major < kOldestServer) {
    return {Mark::kBad, point.what, "walpost needs 14 or newer", "upgrade the server",
            ExitCode::kConfiguration};
  }
  if (major > kNewestServer) {
    return {Mark::kDoubtful, point.what, "newer than any version this walpost was tested with",
            "look for a newer walpost"};
  }
  for (const auto& [fixed_major, fixed_minor] : kFixedMinors) {
    if (major == fixed_major && minor < fixed_minor) {
      return {Mark::kDoubtful, point.what,
              "this minor version can lose changes around ALTER PUBLICATION ... ADD TABLE",
              absl::StrCat("upgrade to ", fixed_major, ".", fixed_minor, " or newer")};
    }
  }
  return point;
}

// Each part by itself, so that every fault is told and not the first one alone.
void JudgeCatalog(const capture::CatalogFacts& facts, std::vector<CheckPoint>& points) {
  constexpr auto kStart = capture::Phase::kStart;
  capture::CatalogFacts server = facts;
  server.slot = {.name = facts.slot.name,
                 .exists = true,
                 .plugin = "pgoutput",
                 .type = "logical",
                 .database = facts.server.database};
  server.publication = {.name = facts.publication.name, .exists = true, .publishes_insert = true};
  points.push_back(PointOf(absl::StrCat("database '", facts.server.database, "'"),
                           capture::Judge(server, kStart),
                           absl::StrCat("wal_level logical, encoding ", facts.server.encoding)));
  capture::CatalogFacts publication = server;
  publication.server = {.wal_level = "logical", .encoding = "UTF8"};
  publication.server.database = facts.server.database;
  publication.publication = facts.publication;
  for (const capture::TableName& table : facts.publication.unknown_tables) {
    points.push_back(
        {Mark::kBad, absl::StrCat("table ", table.schema, ".", table.name), "does not exist",
         "correct source.table, or walpost setup --create-table A..G", ExitCode::kConfiguration});
  }
  publication.publication.unknown_tables.clear();
  points.push_back(PointOf(absl::StrCat("publication '", facts.publication.name, "'"),
                           capture::Judge(publication, kStart), "publishes inserts of the outbox"));
  if (facts.publication.publishes_more) {
    points.push_back(
        {Mark::kDoubtful, absl::StrCat("publication '", facts.publication.name, "'"),
         "publishes updates or deletes too: they are ignored, and need a replica "
         "identity on every table",
         absl::StrCat("ALTER PUBLICATION ", facts.publication.name, " SET (publish = 'insert')")});
  }
  capture::CatalogFacts slot = publication;
  slot.publication = server.publication;
  slot.slot = facts.slot;
  const std::string held = facts.slot.active
                               ? absl::StrCat(", held by pid ", facts.slot.active_pid, " (",
                                              facts.slot.holder, "): this relay would stand by")
                               : "";
  points.push_back(
      PointOf(absl::StrCat("slot '", facts.slot.name, "'"), capture::Judge(slot, kStart),
              absl::StrCat("pgoutput, wal_status ", facts.slot.wal_status, ", confirmed through ",
                           FormatLsn(facts.slot.confirmed_flush_lsn.value_or(Lsn())), held)));
}

CheckPoint JudgeRole(const PreflightFacts& facts) {
  const std::string what = absl::StrCat("role '", facts.role, "'");
  if (facts.may_replicate) return {Mark::kGood, what, "may replicate"};
  return {Mark::kBad, what, "may not replicate",
          absl::StrCat("ALTER ROLE ", facts.role, " REPLICATION (RDS: GRANT rds_replication TO ",
                       facts.role, ")"),
          ExitCode::kNoPermission};
}

CheckPoint JudgeEncryption(const PreflightFacts& facts) {
  if (facts.sslmode.empty()) return {Mark::kGood, "connection", "stays on this host"};
  if (facts.sslmode == "verify-full") return {Mark::kGood, "connection", "sslmode verify-full"};
  return {Mark::kDoubtful, "connection",
          absl::StrCat(facts.encrypted ? "encrypted, but with sslmode " : "not encrypted: sslmode ",
                       facts.sslmode, " doesn't prove who the server is"),
          "sslmode=verify-full and sslrootcert in source.dsn"};
}

void JudgeRoom(const PreflightFacts& facts, std::vector<CheckPoint>& points) {
  const bool held = facts.catalog.slot.active;
  if (facts.free_walsenders <= 0 && !held) {
    points.push_back({Mark::kBad, "max_wal_senders", "no walsender is free",
                      "raise max_wal_senders, or end one that nobody needs",
                      ExitCode::kUnavailable});
  }
  const std::string retained =
      absl::StrCat(facts.retained_bytes >> 20U, " MiB of WAL are kept now");
  if (facts.max_slot_wal_keep_size_mb < 0) {
    points.push_back({Mark::kDoubtful, "max_slot_wal_keep_size",
                      absl::StrCat("unlimited: a relay that stays away fills the disk; ", retained),
                      "ALTER SYSTEM SET max_slot_wal_keep_size to what the disk can spare, and "
                      "watch walpost_slot_safe_wal_bytes"});
  } else {
    points.push_back({Mark::kGood, "max_slot_wal_keep_size",
                      absl::StrCat(facts.max_slot_wal_keep_size_mb, " MiB; ", retained)});
  }
}

void JudgeTable(const TableCounts& counts, std::vector<CheckPoint>& points) {
  const std::string what = absl::StrCat("table ", counts.table.schema, ".", counts.table.name);
  points.push_back(PointOf(what, counts.mapping, "its columns make an event"));
  points.push_back({Mark::kGood, what,
                    absl::StrCat("holds ", counts.rows, " rows; at least ", counts.rows_before,
                                 " of them were committed before the slot's position and will not "
                                 "be delivered by it")});
  if (counts.updates > 0) {
    points.push_back(
        {Mark::kDoubtful, what,
         absl::StrCat("rows are updated (", counts.updates, " so far",
                      counts.updates_now ? ", and right now" : "", "): is a poller still running?"),
         "stop the polling relay, or its events go out twice"});
  }
}

}  // namespace

CheckPoint PointOf(std::string what, const absl::Status& status, std::string detail) {
  if (status.ok()) return {Mark::kGood, std::move(what), std::move(detail)};
  return {Mark::kBad, std::move(what), std::string(MessageOf(status)), HintOf(status),
          ExitCodeOf(status)};
}

std::vector<CheckPoint> JudgePostgres(const PreflightFacts& facts) {
  std::vector<CheckPoint> points;
  points.push_back(JudgeVersion(facts.catalog.server));
  points.push_back(JudgeEncryption(facts));
  points.push_back(JudgeRole(facts));
  JudgeCatalog(facts.catalog, points);
  JudgeRoom(facts, points);
  for (const TableCounts& counts : facts.tables) JudgeTable(counts, points);
  return points;
}

std::string RenderText(const std::vector<CheckPoint>& points) {
  std::string out;
  for (const CheckPoint& point : points) {
    const char* mark = point.mark == Mark::kGood ? "✓" : point.mark == Mark::kBad ? "✗" : "!";
    absl::StrAppend(&out, mark, " ", point.what, point.detail.empty() ? "" : ": ", point.detail,
                    "\n");
    if (!point.fix.empty()) absl::StrAppend(&out, "    fix: ", point.fix, "\n");
  }
  return out;
}

std::string RenderJson(const std::vector<CheckPoint>& points) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CheckPoint& point : points) {
    nlohmann::ordered_json entry;
    entry["result"] = point.mark == Mark::kGood  ? "ok"
                      : point.mark == Mark::kBad ? "failed"
                                                 : "warning";
    entry["what"] = point.what;
    entry["detail"] = point.detail;
    if (!point.fix.empty()) entry["fix"] = point.fix;
    list.push_back(std::move(entry));
  }
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["ok"] = ExitOf(points) == ExitCode::kOk;
  json["checks"] = std::move(list);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

ExitCode ExitOf(const std::vector<CheckPoint>& points) {
  for (const CheckPoint& point : points) {
    if (point.mark == Mark::kBad) return point.exit;
  }
  return ExitCode::kOk;
}

}  // namespace walpost
