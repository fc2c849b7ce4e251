// walpost setup: shows or makes what a relay needs in Postgres.
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/pq.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "capture/wal/catalog.h"
#include "setup_plan.h"
#include "verbs.h"

namespace walpost {
namespace {

constexpr int kOldestServer = 140000;

absl::Status Usage(std::string_view message) {
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kInvalidArgument, message), "see walpost setup --help"),
      ExitCode::kUsage);
}

absl::StatusOr<Config> ConfigOf(const SetupArgs& args) {
  std::vector<Flag> flags;
  if (!args.slot.empty()) flags.push_back({"source.slot", args.slot, "--slot"});
  if (!args.publication.empty()) {
    flags.push_back({"source.publication", args.publication, "--publication"});
  }
  if (!args.tables.empty()) flags.push_back({"source.table", "", "--table", args.tables});
  ASSIGN_OR_RETURN(const ConfigSources sources, SourcesOf(args.config, std::move(flags)));
  return LoadConfig(sources, ConfigScope::kSource);
}

absl::StatusOr<SetupRequest> RequestOf(const SetupArgs& args, const Config& config) {
  if (config.tables.empty()) {
    return WithHint(Usage("setup makes a publication for tables, and source.table names none"),
                    "for logical messages alone: CREATE PUBLICATION walpost; then SELECT "
                    "pg_create_logical_replication_slot('walpost', 'pgoutput')");
  }
  SetupRequest request{config.slot, config.publication, config.tables, nullptr, args.role};
  if (!args.shape.empty()) {
    request.shape = FindOutboxShape(args.shape);
    if (request.shape == nullptr) {
      return Usage(
          absl::StrCat("--create-table takes a letter from A to G, not '", args.shape, "'"));
    }
    if (request.tables.size() != 1) return Usage("--create-table takes exactly one table");
  }
  return request;
}

std::string TablesSql(const SetupRequest& request) {
  std::string wanted;
  for (std::size_t i = 0; i < request.tables.size(); ++i) {
    absl::StrAppend(&wanted, i == 0 ? "" : ", ", "(", i, ", ",
                    QuoteLiteral(request.tables[i].schema), "::text, ",
                    QuoteLiteral(request.tables[i].name), "::text)");
  }
  return absl::StrCat(
      "SELECT w.number, n.oid IS NOT NULL AS schema_exists, c.oid IS NOT NULL AS table_exists, "
      "c.relkind, c.relpersistence, a.attname "
      "FROM (VALUES ",
      wanted,
      ") AS w (number, schema_name, table_name) "
      "LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema_name "
      "LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.table_name "
      "LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
      "AND NOT a.attisdropped ORDER BY w.number, a.attnum");
}

// rds_replication stands for REPLICATION where a cloud keeps the attribute to itself.
std::string OthersSql(const SetupRequest& request) {
  const std::string role = QuoteLiteral(request.role);
  return absl::StrCat(
      "SELECT p.pubviaroot, p.puballtables, r.oid IS NOT NULL AS role_exists, r.rolcanlogin, "
      "r.rolreplication OR r.rolsuper OR coalesce(pg_has_role(r.oid, cloud.oid, 'MEMBER'), false) "
      "AS may_replicate, "
      "has_database_privilege(r.oid, current_database(), 'CONNECT') AS may_connect "
      "FROM (SELECT) AS one "
      "LEFT JOIN pg_catalog.pg_publication p ON p.pubname = ",
      QuoteLiteral(request.publication), " LEFT JOIN pg_catalog.pg_roles r ON r.rolname = ", role,
      " LEFT JOIN pg_catalog.pg_roles cloud ON cloud.rolname = 'rds_replication'");
}

char LetterOf(const std::string& text) { return text.empty() ? ' ' : text.front(); }

absl::StatusOr<SetupFacts> ReadFacts(PgSession& session, const SetupRequest& request) {
  SetupFacts facts;
  const capture::CatalogQuestion question{request.slot, request.publication, request.tables};
  ASSIGN_OR_RETURN(const PgRows catalog, RunQuery(session, capture::CatalogSql(session, question),
                                                  limits::kConnectTimeout));
  ASSIGN_OR_RETURN(facts.catalog,
                   capture::ReadCatalog(catalog, question, session.server_version()));
  ASSIGN_OR_RETURN(const PgRows tables,
                   RunQuery(session, TablesSql(request), limits::kConnectTimeout));
  std::string number;
  for (int row = 0; row < tables.size(); ++row) {
    if (facts.tables.empty() || tables.Text(row, "number") != number) {
      number = tables.Text(row, "number");
      facts.tables.push_back({tables.IsTrue(row, "schema_exists"),
                              tables.IsTrue(row, "table_exists"),
                              LetterOf(tables.Text(row, "relkind")),
                              LetterOf(tables.Text(row, "relpersistence")),
                              {}});
    }
    if (tables.Get(row, "attname"))
      facts.tables.back().columns.push_back(tables.Text(row, "attname"));
  }
  ASSIGN_OR_RETURN(const PgRows others,
                   RunQuery(session, OthersSql(request), limits::kConnectTimeout));
  facts.publishes_via_root = others.IsTrue(0, "pubviaroot");
  facts.publishes_all_tables = others.IsTrue(0, "puballtables");
  facts.role = {others.IsTrue(0, "role_exists"), others.IsTrue(0, "rolcanlogin"),
                others.IsTrue(0, "may_replicate"), others.IsTrue(0, "may_connect")};
  return facts;
}

// The oldest transactions that the creation of a slot may be waiting for. pg_locks shows them to
// any role.
std::string BlockingTransactions(PgSession& session) {
  const absl::StatusOr<PgRows> rows = RunQuery(
      session,
      "SELECT coalesce('pid ' || l.pid || coalesce(', role ' || a.usename, '') || "
      "coalesce(', ' || a.state || ' since ' || date_trunc('second', a.xact_start)::text, ''), "
      "'prepared transaction ' || x.gid) AS who "
      "FROM pg_catalog.pg_locks l "
      "LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid "
      "LEFT JOIN pg_catalog.pg_prepared_xacts x ON x.transaction = l.transactionid "
      "WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted "
      "AND l.pid IS DISTINCT FROM pg_backend_pid() ORDER BY a.xact_start LIMIT 3",
      limits::kConnectTimeout);
  if (!rows.ok()) return "";
  std::vector<std::string> who;
  who.reserve(static_cast<std::size_t>(rows->size()));
  for (int row = 0; row < rows->size(); ++row) who.push_back(rows->Text(row, "who"));
  return absl::StrJoin(who, "; ");
}

// Says what to do about an error of the server that this step is known for.
absl::Status Explain(const absl::Status& error, const SetupStep& step, PgSession& session) {
  const absl::Status status = WithContext(error, step.thing);
  const std::string sqlstate = SqlStateOf(error);
  const bool slot = step.kind == SetupStep::Kind::kSlot;
  if (sqlstate == "42501") {
    return WithHint(status, slot ? "the role needs the attribute REPLICATION (RDS: rds_replication)"
                                 : "connect as the owner of the table, with CREATE on the database "
                                   "(for --role: CREATEROLE)");
  }
  if (slot && (sqlstate == "55P03" || sqlstate == "57014")) {
    const std::string who = BlockingTransactions(session);
    return WithHint(
        WithContext(
            Error(absl::StatusCode::kUnavailable,
                  absl::StrCat("a slot waits for every transaction that was running when it "
                               "was asked for, and these did not end",
                               who.empty() ? "" : ": ", who)),
            step.thing),
        "wait for them, or end them with pg_terminate_backend(pid), ROLLBACK or ROLLBACK PREPARED; "
        "then "
        "run setup again");
  }
  if (slot && sqlstate == "53400") {
    return WithExitCode(
        WithHint(status, "raise max_replication_slots, or drop a slot that nobody uses"),
        ExitCode::kConfiguration);
  }
  if (sqlstate == "42710" || sqlstate == "42P07") {
    return WithExitCode(WithHint(status, "somebody else made it at the same time; run setup again"),
                        ExitCode::kConfiguration);
  }
  return status;
}

absl::Status ApplyStep(PgSession& session, const SetupStep& step) {
  absl::Duration patience = limits::kSetupLockTimeout;
  if (step.kind == SetupStep::Kind::kSlot) {
    std::cerr << "walpost: creating " << step.thing
              << ": waits for every transaction that is running\n";
    patience = limits::kSetupStatementTimeout;
  }
  // The server gives up before this side does: nothing is left running there.
  const absl::StatusOr<PgRows> limited = RunQuery(
      session,
      absl::StrCat("SET lock_timeout = ", absl::ToInt64Milliseconds(limits::kSetupLockTimeout),
                   "; SET statement_timeout = ", absl::ToInt64Milliseconds(patience)),
      limits::kConnectTimeout);
  if (!limited.ok()) return limited.status();
  const absl::StatusOr<PgRows> done =
      RunQuery(session, step.sql, patience + limits::kConnectTimeout);
  return done.ok() ? absl::OkStatus() : Explain(done.status(), step, session);
}

absl::Status Apply(PgSession& session, const SetupRequest& request,
                   const std::vector<SetupStep>& steps) {
  for (const SetupStep& step : steps) {
    if (!step.sql.empty()) RETURN_IF_ERROR(ApplyStep(session, step));
    std::cout << step.thing << ": " << (step.sql.empty() ? "already there" : "created")
              << std::endl;
  }
  ASSIGN_OR_RETURN(const SetupFacts facts, ReadFacts(session, request));
  return capture::Judge(facts.catalog, capture::Phase::kStart);
}

absl::Status RunSetup(const SetupArgs& args) {
  ASSIGN_OR_RETURN(const Config config, ConfigOf(args));
  ASSIGN_OR_RETURN(const SetupRequest request, RequestOf(args, config));
  PgOptions options;
  options.dsn = config.dsn;
  options.application_name = "walpost setup";
  ASSIGN_OR_RETURN(const std::unique_ptr<PgSession> session,
                   Connect(options, limits::kConnectTimeout));
  if (session->server_version() < kOldestServer) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 absl::StrCat("the server is Postgres ", session->server_version() / 10000,
                              "; walpost needs 14 or newer"));
  }
  ASSIGN_OR_RETURN(const SetupFacts facts, ReadFacts(*session, request));
  ASSIGN_OR_RETURN(const std::vector<SetupStep> steps, PlanSetup(request, facts));
  if (args.apply) return Apply(*session, request, steps);
  std::cout << RenderSetup(steps, facts.catalog.server.database) << std::flush;
  return absl::OkStatus();
}

}  // namespace

int VerbSetup(const SetupArgs& args) {
  const absl::Status status = RunSetup(args);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : Fail(status);
}

}  // namespace walpost
