// walpost check: everything a relay needs, looked at before it is started.
#include <poll.h>

#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/pq.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "capture/wal/catalog.h"
#include "outbox/mapping_plan.h"
#include "preflight.h"
#include "sink/sink_table.h"
#include "verbs.h"

namespace walpost {
namespace {

std::int64_t Number(const PgRows& rows, const char* column) {
  std::int64_t number = 0;
  return absl::SimpleAtoi(rows.Text(0, column), &number) ? number : 0;
}

absl::StatusOr<PgRows> Ask(PgSession& session, std::string_view sql) {
  return RunQuery(session, sql, limits::kConnectTimeout);
}

absl::Status ReadServer(PgSession& session, PreflightFacts& facts) {
  ASSIGN_OR_RETURN(
      const PgRows rows,
      Ask(session,
          "SELECT current_user AS role, r.rolreplication OR r.rolsuper OR "
          "coalesce(pg_has_role(r.oid, cloud.oid, 'MEMBER'), false) AS may_replicate, "
          "s.ssl, inet_server_addr() IS NULL OR inet_server_addr() << inet '127.0.0.0/8' "
          "OR inet_server_addr() = inet '::1' AS is_local, "
          "current_setting('max_wal_senders')::int - "
          "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender') AS free, "
          "(SELECT setting FROM pg_settings WHERE name = 'max_slot_wal_keep_size') AS keep "
          "FROM pg_roles r LEFT JOIN pg_stat_ssl s ON s.pid = pg_backend_pid() "
          "LEFT JOIN pg_roles cloud ON cloud.rolname = 'rds_replication' "
          "WHERE r.rolname = current_user"));
  facts.role = rows.Text(0, "role");
  facts.may_replicate = rows.IsTrue(0, "may_replicate");
  facts.encrypted = rows.IsTrue(0, "ssl");
  facts.sslmode = rows.IsTrue(0, "is_local") ? "" : session.sslmode();
  facts.free_walsenders = Number(rows, "free");
  facts.max_slot_wal_keep_size_mb = Number(rows, "keep");
  const capture::CatalogFacts& catalog = facts.catalog;
  if (catalog.slot.restart_lsn && catalog.server.wal_end > *catalog.slot.restart_lsn) {
    facts.retained_bytes =
        static_cast<std::int64_t>(catalog.server.wal_end.value - catalog.slot.restart_lsn->value);
  }
  return absl::OkStatus();
}

std::string UpdatesSql(const capture::TableName& table) {
  return absl::StrCat(
      "SELECT coalesce(n_tup_upd, 0) AS updates, coalesce(n_tup_del, 0) AS deletes "
      "FROM pg_stat_user_tables WHERE schemaname = ",
      QuoteLiteral(table.schema), " AND relname = ", QuoteLiteral(table.name));
}

// The rows themselves may only be counted by a role that may read them: a relay's own need not.
absl::Status ReadTable(PgSession& session, const PreflightFacts& facts,
                       const capture::TableName& table, TableCounts& counts) {
  counts.table = table;
  ASSIGN_OR_RETURN(const PgRows before, Ask(session, UpdatesSql(table)));
  counts.updates = Number(before, "updates");
  counts.deletes = Number(before, "deletes");
  ASSIGN_OR_RETURN(
      const PgRows rows,
      Ask(session,
          absl::StrCat("SELECT count(*) AS rows, count(*) FILTER (WHERE age(t.xmin) > age(s.xid)) "
                       "AS before FROM ",
                       QuoteTable(table.schema, table.name),
                       " t LEFT JOIN (SELECT catalog_xmin AS xid FROM pg_replication_slots WHERE "
                       "slot_name = ",
                       QuoteLiteral(facts.catalog.slot.name), ") s ON true")));
  counts.rows = Number(rows, "rows");
  counts.rows_before = Number(rows, "before");
  ::poll(nullptr, 0, 1000);  // long enough for a poller to show
  ASSIGN_OR_RETURN(const PgRows after, Ask(session, UpdatesSql(table)));
  counts.updates_now = Number(after, "updates") > counts.updates;
  return absl::OkStatus();
}

// As a Relation message would describe it.
absl::Status CheckMapping(PgSession& session, const capture::TableName& table,
                          const outbox::MappingOptions& options) {
  ASSIGN_OR_RETURN(
      const PgRows rows,
      Ask(session,
          absl::StrCat(
              "SELECT a.attname, a.atttypid, CASE WHEN t.typtype = 'd' THEN '' ELSE tn.nspname END "
              "AS type_schema, coalesce(b.typname, t.typname) AS type_name "
              "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
              "JOIN pg_namespace tn ON tn.oid = t.typnamespace "
              "LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype "
              "WHERE a.attrelid = to_regclass(",
              QuoteLiteral(QuoteTable(table.schema, table.name)),
              ") AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY "
              "a.attnum")));
  capture::Relation relation{{}, table.schema, table.name, {}};
  for (int row = 0; row < rows.size(); ++row) {
    capture::Column column{rows.Text(row, "attname")};
    if (!absl::SimpleAtoi(rows.Text(row, "atttypid"), &column.type_oid)) column.type_oid = 0;
    column.type_schema = rows.Text(row, "type_schema");
    column.type_name = rows.Text(row, "type_name");
    relation.columns.push_back(std::move(column));
  }
  return outbox::MakeMappingPlan(std::make_shared<const capture::Relation>(std::move(relation)),
                                 options)
      .status();
}

void CheckTables(PgSession& session, PreflightFacts& facts, const Config& config,
                 std::vector<CheckPoint>& doubts) {
  for (const capture::TableName& table : config.tables) {
    TableCounts counts;
    absl::Status status = ReadTable(session, facts, table, counts);
    counts.mapping = CheckMapping(session, table, config.mapping);
    if (status.ok()) {
      facts.tables.push_back(counts);
    } else {
      doubts.push_back(PointOf(absl::StrCat("table ", table.schema, ".", table.name),
                               counts.mapping, "its columns make an event"));
      doubts.push_back({Mark::kDoubtful, absl::StrCat("table ", table.schema, ".", table.name),
                        absl::StrCat("its rows can't be counted: ", status.message()),
                        "run the check as a role that may read it"});
    }
  }
}

void CheckPostgres(const Config& config, std::vector<CheckPoint>& points) {
  PgOptions options;
  options.dsn = config.dsn;
  options.application_name = "walpost check";
  const absl::StatusOr<std::unique_ptr<PgSession>> session =
      Connect(options, limits::kConnectTimeout);
  if (!session.ok()) {
    points.push_back(PointOf("Postgres", session.status()));
    return;
  }
  // The server gives up before this side does: nothing is left running there.
  const absl::StatusOr<PgRows> limited =
      Ask(**session, absl::StrCat("SET statement_timeout = ",
                                  absl::ToInt64Milliseconds(limits::kConnectTimeout) - 1000));
  PreflightFacts facts;
  const capture::CatalogQuestion question{config.slot, config.publication, config.tables};
  absl::StatusOr<PgRows> rows = Ask(**session, capture::CatalogSql(**session, question));
  absl::StatusOr<capture::CatalogFacts> catalog =
      rows.ok() ? capture::ReadCatalog(*rows, question, (*session)->server_version())
                : rows.status();
  absl::Status status = limited.ok() ? catalog.status() : limited.status();
  if (status.ok()) {
    facts.catalog = *catalog;
    status = ReadServer(**session, facts);
  }
  if (!status.ok()) {
    points.push_back(PointOf("Postgres", status));
    return;
  }
  std::vector<CheckPoint> doubts;
  if (facts.catalog.publication.unknown_tables.empty()) {
    CheckTables(**session, facts, config, doubts);
  }
  for (CheckPoint& point : JudgePostgres(facts)) points.push_back(std::move(point));
  for (CheckPoint& point : doubts) points.push_back(std::move(point));
}

// Connects and looks the topics up that are known; sends nothing.
void CheckSink(Config& config, std::vector<CheckPoint>& points) {
  const std::string what = absl::StrCat("sink ", config.sink_type);
  std::any memory;
  // A check makes nothing.
  if (config.settings.Find("kafka.create_topics") != nullptr) {
    (void)config.settings.Set("kafka.create_topics", "false", "check");
  }
  const absl::StatusOr<std::unique_ptr<sink::Sink>> sink =
      sink::FindSinkType(config.sink_type)->make(config.settings, memory);
  if (!sink.ok()) {
    points.push_back(PointOf(what, sink.status()));
    return;
  }
  const MonotonicTime deadline = MonotonicNow() + limits::kConnectTimeout;
  std::vector<sink::Receipt> receipts;
  while (MonotonicNow() < deadline) {
    pollfd ready{(*sink)->ready_fd(), POLLIN, 0};
    ::poll(&ready, 1, 100);
    (*sink)->TakeReceipts(receipts);
    if (!(*sink)->failure().ok() || (*sink)->health().ready) break;
  }
  const sink::SinkHealth health = (*sink)->health();
  absl::Status status = (*sink)->failure();
  if (status.ok() && !health.ready) {
    status = WithHint(Error(absl::StatusCode::kUnavailable, health.reason),
                      "is kafka.brokers right, and can this host reach them?");
  }
  points.push_back(PointOf(what, status, "reachable"));
}

}  // namespace

int VerbCheck(const CheckArgs& args) {
  const absl::StatusOr<ConfigSources> sources = SourcesOf(args.config);
  if (!sources.ok()) return Fail(sources.status());
  absl::StatusOr<Config> config = LoadConfig(*sources);
  if (!config.ok()) return Fail(config.status());
  log::Configure(log::Level::kError, config->log_format);  // what is wrong is in the list
  std::vector<CheckPoint> points = {{Mark::kGood, "configuration", "valid"}};
  CheckPostgres(*config, points);
  CheckSink(*config, points);
  std::cout << (args.output == "json" ? RenderJson(points) : RenderText(points)) << std::flush;
  return static_cast<int>(ExitOf(points));
}

}  // namespace walpost
