#include "capture/wal/slot_health.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

absl::Status Verdict(Phase phase, std::string_view message, std::string_view hint) {
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition, message), hint),
                      phase == Phase::kStart ? ExitCode::kConfiguration : ExitCode::kData);
}

absl::Status JudgeSlot(const CatalogFacts& facts, Phase phase) {
  const SlotFacts& slot = facts.slot;
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
    return Verdict(
        phase, absl::StrCat("publication '", publication.name, "' does not publish inserts"),
        absl::StrCat("ALTER PUBLICATION ", publication.name, " SET (publish = 'insert')"));
  }
  if (!publication.missing_tables.empty()) {
    const TableName& table = publication.missing_tables.front();
    return Verdict(phase,
                   absl::StrCat("publication '", publication.name, "' does not contain the table ",
                                table.schema, ".", table.name),
                   absl::StrCat("ALTER PUBLICATION ", publication.name, " ADD TABLE ", table.schema,
                                ".", table.name, ", or correct source.table"));
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
  absl::Status slot = JudgeSlot(facts, phase);
  return slot.ok() ? JudgePublication(facts.publication, phase) : slot;
}

}  // namespace walpost::capture
