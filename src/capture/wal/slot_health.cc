#include "capture/wal/slot_health.h"

#include "absl/strings/str_cat.h"
#include "base/sql_quote.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

absl::Status Verdict(Phase phase, std::string_view message, std::string_view hint) {
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition, message), hint),
                      phase == Phase::kStart ? ExitCode::kConfiguration : ExitCode::kData);
}

absl::Status JudgeSlot(const CatalogFacts& facts, Phase phase) {
  const SlotFacts& slot = facts.slot;
  // Up to version 15 a standby can't be decoded; a failover may be under way.
  if (facts.server.in_recovery && (!slot.exists || slot.synced || facts.server.version < 160000)) {
    return WithHint(Error(absl::StatusCode::kUnavailable,
                          "the server is a standby, and the slot can't be read on it"),
                    "let source.dsn lead to the primary: name all hosts, and "
                    "target_session_attrs=read-write");
  }
  if (!slot.exists) {
    return Verdict(
        phase, absl::StrCat("slot '", slot.name, "' does not exist"),
        phase == Phase::kStart
            ? absl::StrCat("create it with: walpost setup --slot ", slot.name, " --publication ",
                           facts.publication.name, " --apply")
            : "events committed since it was dropped are not in any slot: compare the outbox table "
              "with the topics before creating a new one with walpost setup");
  }
  if (slot.type != "logical") {
    return Verdict(phase, absl::StrCat("slot '", slot.name, "' is a physical slot"),
                   "name a logical slot of the plugin pgoutput in source.slot");
  }
  if (slot.plugin != "pgoutput") {
    return Verdict(phase,
                   absl::StrCat("slot '", slot.name, "' uses the plugin '", slot.plugin, "'"),
                   "walpost reads pgoutput: name another slot in source.slot, or create one with "
                   "walpost setup");
  }
  if (slot.database != facts.server.database) {
    return Verdict(phase,
                   absl::StrCat("slot '", slot.name, "' belongs to database '", slot.database,
                                "', not '", facts.server.database, "'"),
                   "connect to the slot's database in source.dsn");
  }
  if (slot.two_phase) {
    return Verdict(phase, absl::StrCat("slot '", slot.name, "' has two_phase on"),
                   "it delivers transactions before they commit: create a slot without two_phase");
  }
  if (slot.wal_status == "lost" || !slot.invalidation_reason.empty()) {
    const std::string reason =
        slot.invalidation_reason.empty() ? "wal_status lost" : slot.invalidation_reason;
    return WithExitCode(
        Verdict(
            phase, absl::StrCat("slot '", slot.name, "' was invalidated (", reason, ")"),
            "its events are lost to it: drop it, create a new one with walpost setup, and compare "
            "the outbox table with the topics for what is missing"),
        ExitCode::kData);
  }
  return absl::OkStatus();
}

absl::Status JudgePublication(const PublicationFacts& publication, Phase phase) {
  if (!publication.exists) {
    return Verdict(
        phase, absl::StrCat("publication '", publication.name, "' does not exist"),
        "a publication must be older than the slot that uses it: create it, then a new slot, with "
        "walpost setup");
  }
  if (!publication.publishes_insert) {
    return Verdict(phase,
                   absl::StrCat("publication '", publication.name, "' does not publish inserts"),
                   absl::StrCat("ALTER PUBLICATION ", QuoteIdentifier(publication.name),
                                " SET (publish = 'insert')"));
  }
  if (!publication.unknown_tables.empty()) {
    const TableName& table = publication.unknown_tables.front();
    return Verdict(
        phase, absl::StrCat("the table ", table.schema, ".", table.name, " does not exist"),
        "correct source.table (names are taken as they are, upper case too), or make the "
        "table with walpost setup --create-table");
  }
  if (!publication.unlogged_tables.empty()) {
    const TableName& table = publication.unlogged_tables.front();
    return Verdict(
        phase,
        absl::StrCat("the table ", table.schema, ".", table.name,
                     " is unlogged: its rows are not in the WAL"),
        absl::StrCat("ALTER TABLE ", QuoteTable(table.schema, table.name), " SET LOGGED"));
  }
  if (!publication.missing_tables.empty()) {
    const TableName& table = publication.missing_tables.front();
    return Verdict(
        phase,
        absl::StrCat("publication '", publication.name, "' does not contain the table ",
                     table.schema, ".", table.name),
        absl::StrCat("ALTER PUBLICATION ", QuoteIdentifier(publication.name), " ADD TABLE ",
                     QuoteTable(table.schema, table.name), ", or correct source.table"));
  }
  if (!publication.renamed_tables.empty()) {
    const TableName& table = publication.renamed_tables.front();
    return Verdict(
        phase,
        absl::StrCat("rows of ", table.schema, ".", table.name,
                     " are published under the name of another table of its partition "
                     "tree"),
        absl::StrCat("name the partitioned table in source.table, and ALTER PUBLICATION ",
                     QuoteIdentifier(publication.name),
                     " SET (publish_via_partition_root = true)"));
  }
  if (!publication.filtered_tables.empty()) {
    const TableName& table = publication.filtered_tables.front();
    return Verdict(phase,
                   absl::StrCat("publication '", publication.name, "' filters rows or columns of ",
                                table.schema, ".", table.name),
                   "rows that it leaves out would never be delivered: publish the whole table");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Judge(const CatalogFacts& facts, Phase phase) {
  if (facts.server.wal_level != "logical") {
    return Verdict(phase, absl::StrCat("wal_level is '", facts.server.wal_level, "'"),
                   "ALTER SYSTEM SET wal_level = 'logical', then restart Postgres");
  }
  if (facts.server.encoding == "SQL_ASCII") {
    return Verdict(
        phase, absl::StrCat("database '", facts.server.database, "' has the encoding SQL_ASCII"),
        "its text is of no known encoding, and one row that isn't UTF-8 would stop the "
        "stream for good: move the outbox to a database with an encoding");
  }
  absl::Status slot = JudgeSlot(facts, phase);
  return slot.ok() ? JudgePublication(facts.publication, phase) : slot;
}

absl::Status JudgeContinuity(const Continuity& facts) {
  const LastSeen& last = facts.last;
  constexpr char kCompare[] =
      "compare the outbox table with the topics; to go on from where the slot is now, restart the "
      "relay";
  if (facts.identity.system_identifier != last.identity.system_identifier ||
      facts.identity.database != last.identity.database) {
    return Verdict(
        Phase::kRunning,
        absl::StrCat("connected to another database: system ", facts.identity.system_identifier,
                     " '", facts.identity.database, "', before ", last.identity.system_identifier,
                     " '", last.identity.database, "'"),
        "source.dsn leads somewhere else now: correct it, or restart the relay if that is meant");
  }
  const bool same_timeline = facts.identity.timeline == last.identity.timeline;
  if (facts.identity.timeline < last.identity.timeline ||
      (same_timeline && facts.xlogpos < last.confirmed)) {
    return Verdict(
        Phase::kRunning,
        absl::StrCat("the server is at ", FormatLsn(facts.xlogpos), " of timeline ",
                     facts.identity.timeline, ", and ", FormatLsn(last.confirmed), " of timeline ",
                     last.identity.timeline, " was confirmed: it is an older copy"),
        "events since then were delivered and don't exist on it; restart the relay to go "
        "on from where its slot is");
  }
  if (!facts.held_by_another && facts.confirmed_flush_lsn > last.confirmed) {
    return Verdict(
        Phase::kRunning,
        absl::StrCat("gap: slot '", facts.slot, "' is at ", FormatLsn(*facts.confirmed_flush_lsn),
                     ", and this relay confirmed ", FormatLsn(last.confirmed),
                     " at most: it was recreated or advanced meanwhile"),
        kCompare);
  }
  return absl::OkStatus();
}

}  // namespace walpost::capture
