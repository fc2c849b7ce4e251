#include "setup_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/sql_quote.h"
#include "base/status.h"

namespace walpost {
namespace {

absl::Status Unfit(std::string_view message, std::string_view hint) {
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition, message), hint),
                      ExitCode::kConfiguration);
}

// On one line whatever a name holds: it goes into comments and messages.
std::string Shown(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }, ' ');
  return out;
}

std::string Shown(const capture::TableName& table) {
  return Shown(absl::StrCat(table.schema, ".", table.name));
}

std::string MissingColumns(const OutboxShape& shape, const TableFacts& table) {
  std::vector<std::string> missing;
  for (const std::string& column : ColumnsOf(shape)) {
    if (std::find(table.columns.begin(), table.columns.end(), column) == table.columns.end()) {
      missing.push_back(column);
    }
  }
  return absl::StrJoin(missing, ", ");
}

absl::Status CheckExistingTable(const SetupRequest& request, const capture::TableName& name,
                                const TableFacts& table) {
  const std::string shown = Shown(name);
  if (table.kind != 'r' && table.kind != 'p') {
    return Unfit(absl::StrCat(shown, " is not a table"),
                 "only tables can be published: name the outbox table in source.table or --table");
  }
  if (table.persistence != 'p') {
    return Unfit(
        absl::StrCat("table ", shown, " is unlogged or temporary: its rows are not in the WAL"),
        absl::StrCat("ALTER TABLE ", QuoteTable(name.schema, name.name), " SET LOGGED"));
  }
  if (request.shape == nullptr) return absl::OkStatus();
  const std::string letter(1, request.shape->letter);
  const std::string missing = MissingColumns(*request.shape, table);
  if (!missing.empty()) {
    return Unfit(
        absl::StrCat("table ", shown, " exists and lacks columns of shape ", letter, ": ", missing),
        "leave --create-table out to use the table as it is, or choose another name");
  }
  if (request.shape->partitioned != (table.kind == 'p')) {
    return Unfit(absl::StrCat("table ", shown, " exists and is ",
                              table.kind == 'p' ? "partitioned" : "not partitioned",
                              ", unlike shape ", letter),
                 "leave --create-table out to use the table as it is, or choose another name");
  }
  return absl::OkStatus();
}

absl::StatusOr<SetupStep> PlanTable(const SetupRequest& request, const capture::TableName& name,
                                    const TableFacts& table) {
  SetupStep step{SetupStep::Kind::kTable, absl::StrCat("table ", Shown(name)), ""};
  if (table.exists) {
    RETURN_IF_ERROR(CheckExistingTable(request, name, table));
    return step;
  }
  if (request.shape == nullptr) {
    return Unfit(
        absl::StrCat("table ", Shown(name), " does not exist"),
        "create it, or let setup do it with --create-table LETTER (see walpost setup --help)");
  }
  if (!table.schema_exists) {
    absl::StrAppend(&step.sql, "CREATE SCHEMA ", QuoteIdentifier(name.schema), ";\n");
  }
  step.sql += CreateTableSql(*request.shape, name);
  return step;
}

// True where rows are written into partitions and must be published under the parent's name.
bool NeedsRoot(const SetupRequest& request, const SetupFacts& facts) {
  for (const TableFacts& table : facts.tables) {
    const bool partitioned =
        table.exists ? table.kind == 'p' : request.shape != nullptr && request.shape->partitioned;
    if (partitioned) return true;
  }
  return false;
}

absl::StatusOr<SetupStep> PlanPublication(const SetupRequest& request, const SetupFacts& facts) {
  SetupStep step{SetupStep::Kind::kPublication,
                 absl::StrCat("publication ", Shown(request.publication)), ""};
  const bool root = NeedsRoot(request, facts);
  if (facts.catalog.publication.exists) {
    if (root && !facts.publishes_via_root) {
      return Unfit(absl::StrCat(step.thing, " publishes partitions under their own names"),
                   absl::StrCat("ALTER PUBLICATION ", QuoteIdentifier(request.publication),
                                " SET (publish_via_partition_root = true)"));
    }
    return step;  // the rest was judged with the slot
  }
  absl::StrAppend(
      &step.sql, "CREATE PUBLICATION ", QuoteIdentifier(request.publication), " FOR TABLE ",
      absl::StrJoin(request.tables, ", ",
                    [](std::string* out, const capture::TableName& table) {
                      out->append(QuoteTable(table.schema, table.name));
                    }),
      " WITH (publish = 'insert'", root ? ", publish_via_partition_root = true" : "", ");\n");
  return step;
}

absl::StatusOr<SetupStep> PlanRole(const SetupRequest& request, const SetupFacts& facts) {
  const RoleFacts& role = facts.role;
  const std::string name = QuoteIdentifier(request.role);
  SetupStep step{SetupStep::Kind::kRole, absl::StrCat("role ", Shown(request.role)), ""};
  if (role.exists && !(role.may_log_in && role.may_replicate)) {
    return Unfit(absl::StrCat(step.thing, " exists and lacks LOGIN or REPLICATION"),
                 absl::StrCat("ALTER ROLE ", name, " LOGIN REPLICATION"));
  }
  if (!role.exists) {
    absl::StrAppend(&step.sql, "CREATE ROLE ", name, " LOGIN REPLICATION CONNECTION LIMIT 4;\n",
                    "ALTER ROLE ", name, " SET default_transaction_read_only = on;\n");
  }
  if (!role.exists || !role.may_connect) {
    absl::StrAppend(&step.sql, "GRANT CONNECT ON DATABASE ",
                    QuoteIdentifier(facts.catalog.server.database), " TO ", name, ";\n");
  }
  return step;
}

SetupStep PlanSlot(const SetupRequest& request, const SetupFacts& facts) {
  SetupStep step{SetupStep::Kind::kSlot, absl::StrCat("slot ", Shown(request.slot)), ""};
  if (!facts.catalog.slot.exists) {
    absl::StrAppend(&step.sql, "SELECT pg_create_logical_replication_slot(",
                    QuoteLiteral(request.slot), ", 'pgoutput');\n");
  }
  return step;
}

// A table that isn't there yet can only be in a publication of all tables.
absl::Status JudgeTablesToMake(const SetupRequest& request, const SetupFacts& facts,
                               std::vector<capture::TableName>& missing) {
  for (std::size_t i = 0; i < request.tables.size(); ++i) {
    if (facts.tables.at(i).exists) continue;
    const std::string name = QuoteIdentifier(request.publication);
    if (!facts.publishes_all_tables) {
      return Unfit(
          absl::StrCat("publication ", Shown(request.publication), " exists without the table ",
                       Shown(request.tables[i]), ", which does not exist yet"),
          absl::StrCat("create the table, then: ALTER PUBLICATION ", name, " ADD TABLE ",
                       QuoteTable(request.tables[i].schema, request.tables[i].name)));
    }
    missing.erase(std::remove(missing.begin(), missing.end(), request.tables[i]), missing.end());
  }
  return absl::OkStatus();
}

// What exists is judged as the relay would; what will be made counts as fit.
absl::Status JudgeExisting(const SetupRequest& request, const SetupFacts& facts) {
  capture::CatalogFacts judged = facts.catalog;
  if (judged.publication.exists) {
    RETURN_IF_ERROR(JudgeTablesToMake(request, facts, judged.publication.missing_tables));
  }
  if (!judged.slot.exists) {
    judged.slot.exists = true;
    judged.slot.type = "logical";
    judged.slot.plugin = "pgoutput";
    judged.slot.database = judged.server.database;
    if (!judged.publication.exists) {
      judged.publication = {judged.publication.name, true, true, {}, {}};
    }
  }
  return capture::Judge(judged, capture::Phase::kStart);
}

}  // namespace

absl::StatusOr<std::vector<SetupStep>> PlanSetup(const SetupRequest& request,
                                                 const SetupFacts& facts) {
  std::vector<SetupStep> steps;
  for (std::size_t i = 0; i < request.tables.size(); ++i) {
    ASSIGN_OR_RETURN(SetupStep table, PlanTable(request, request.tables[i], facts.tables.at(i)));
    steps.push_back(std::move(table));
  }
  // First, since to the judgement a partitioned table that isn't published as one is only missing.
  ASSIGN_OR_RETURN(SetupStep publication, PlanPublication(request, facts));
  RETURN_IF_ERROR(JudgeExisting(request, facts));
  steps.push_back(std::move(publication));
  if (!request.role.empty()) {
    ASSIGN_OR_RETURN(SetupStep role, PlanRole(request, facts));
    steps.push_back(std::move(role));
  }
  steps.push_back(PlanSlot(request, facts));
  return steps;
}

std::string RenderSetup(const std::vector<SetupStep>& steps, std::string_view database) {
  std::string out =
      absl::StrCat("-- walpost setup for database ", Shown(database),
                   ". Run it with psql -v ON_ERROR_STOP=1, not in one transaction.\n");
  for (const SetupStep& step : steps) {
    const bool there = step.sql.empty();
    absl::StrAppend(&out, "\n-- ", step.thing, there ? ": already there" : "", "\n");
    if (there) continue;
    if (step.kind == SetupStep::Kind::kRole) {
      out += "-- Give it a password or a certificate, and its own line in pg_hba.conf.\n";
    }
    if (step.kind == SetupStep::Kind::kSlot) {
      absl::StrAppend(
          &out,
          "-- Waits for every transaction that is running. WAL is kept for it from then on.\n",
          "SET lock_timeout = '", absl::ToInt64Seconds(limits::kSetupLockTimeout), "s';\n");
    }
    out += step.sql;
  }
  return out;
}

}  // namespace walpost
