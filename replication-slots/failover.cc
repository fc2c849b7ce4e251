// walpost slots failover: marks a slot to survive a failover (17+), and says what the failover
// still lacks.
#include <algorithm>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "commands.h"
#include "output.h"
#include "queries.h"

namespace walpost::slots {
namespace {

struct Finding {
  bool good = false;
  std::string what;
  std::string fix;
};

// On a standby: what it needs to hold copies of the primary's slots, and the copies.
absl::StatusOr<std::vector<Finding>> OnStandby(const Server& server) {
  ASSIGN_OR_RETURN(auto settings, ReadSettings(server));
  std::vector<Finding> findings;
  const auto want = [&](const std::string& name, bool good, const std::string& fix) {
    findings.push_back({good, absl::StrCat(name, " = '", settings[name], "'"), good ? "" : fix});
  };
  want("sync_replication_slots", settings["sync_replication_slots"] == "on",
       "ALTER SYSTEM SET sync_replication_slots = on; SELECT pg_reload_conf()");
  want("hot_standby_feedback", settings["hot_standby_feedback"] == "on",
       "ALTER SYSTEM SET hot_standby_feedback = on; SELECT pg_reload_conf()");
  want("primary_slot_name", !settings["primary_slot_name"].empty(),
       "a physical slot on the primary, then ALTER SYSTEM SET primary_slot_name = '...'");
  // May hold a password, and only a superuser sees it: nothing of it is shown.
  const std::string& conninfo = settings["primary_conninfo"];
  const bool seen = !conninfo.empty();
  findings.push_back(
      {conninfo.find("dbname") != std::string::npos,
       seen ? "primary_conninfo names a dbname" : "primary_conninfo is not to be seen",
       seen ? "add dbname=postgres to primary_conninfo: slots are read over SQL"
            : "GRANT pg_read_all_settings to this role, and look again"});
  ASSIGN_OR_RETURN(const std::vector<SlotRow> slots, ReadSlots(server, std::nullopt));
  for (const SlotRow& slot : slots) {
    if (!slot.failover && !slot.situation.synced) continue;
    const bool ready = slot.situation.synced && !slot.situation.temporary &&
                       slot.situation.invalidation_reason.empty();
    findings.push_back(
        {ready,
         absl::StrCat("slot ", slot.name(), ready ? ": synced, at " : ": not ready, at ",
                      Text(slot.confirmed_flush_lsn), ", ", Bytes(slot.situation.unconfirmed_bytes),
                      " behind this standby"),
         ready ? "" : "it becomes persistent once the standby has caught up with it"});
  }
  return findings;
}

absl::StatusOr<std::vector<Finding>> OnPrimary(const Server& server) {
  ASSIGN_OR_RETURN(auto settings, ReadSettings(server));
  std::vector<Finding> findings;
  ASSIGN_OR_RETURN(const std::vector<SlotRow> slots, ReadSlots(server, std::nullopt));
  for (const SlotRow& slot : slots) {
    if (!slot.situation.logical || slot.situation.temporary) continue;
    findings.push_back(
        {slot.failover,
         absl::StrCat("slot ", slot.name(), slot.failover ? ": failover" : ": lost in a failover"),
         slot.failover ? "" : absl::StrCat("walpost slots failover ", slot.name(), " on")});
  }
  std::vector<std::string> listed =
      absl::StrSplit(settings["synchronized_standby_slots"], ',', absl::SkipWhitespace());
  for (std::string& name : listed) absl::StripAsciiWhitespace(&name);
  std::vector<std::string> wanted = listed;
  ASSIGN_OR_RETURN(const PgRows standbys, server.Rows(kStandbysSql));
  if (standbys.size() == 0)
    findings.push_back({false, "no standby streams from this server", "set one up"});
  for (int row = 0; row < standbys.size(); ++row) {
    const std::string slot = standbys.Text(row, "slot_name");
    const std::string name = absl::StrCat("standby ", standbys.Text(row, "application_name"));
    if (slot.empty()) {
      findings.push_back({false, absl::StrCat(name, " uses no physical slot"),
                          "set primary_slot_name on it: without one it can't hold up the relay"});
      continue;
    }
    const bool waited_for = std::find(listed.begin(), listed.end(), slot) != listed.end() ||
                            (listed.size() == 1 && listed[0] == "*");
    if (!waited_for) wanted.push_back(slot);
    findings.push_back(
        {waited_for,
         absl::StrCat(name, " (slot ", slot, ") is ", standbys.Text(row, "behind_bytes"),
                      " B behind",
                      waited_for ? "" : ", and events reach consumers before it has them"),
         waited_for ? ""
                    : absl::StrCat("ALTER SYSTEM SET synchronized_standby_slots = ",
                                   QuoteLiteral(absl::StrJoin(wanted, ", ")),
                                   "; SELECT pg_reload_conf()")});
  }
  return findings;
}

absl::Status Alter(const Server& server, const FailoverArgs& args) {
  RETURN_IF_ERROR(server.RequirePrimary("failover on or off"));
  ASSIGN_OR_RETURN(const SlotRow slot, FindLogicalSlot(server, args.name));
  if (slot.situation.active) {
    return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                       absl::StrCat("slot '", args.name, "' is in use by pid ",
                                                    slot.active_pid.value_or(0),
                                                    ": only an idle one can be altered")),
                                 "stop its consumer for a moment"),
                        ExitCode::kConfiguration);
  }
  const std::string command =
      absl::StrCat("ALTER_REPLICATION_SLOT ", QuoteIdentifier(args.name), " (FAILOVER ",
                   args.state == "on" ? "true" : "false", ")");
  if (args.dry_run) {
    std::cout << command << ";\n";
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<PgSession> session, server.OpenReplication());
  RETURN_IF_ERROR(RunQuery(*session, command, absl::Seconds(30)).status());
  Audit(server,
        absl::StrCat("altered slot ", args.name, ": failover ", slot.failover ? "on" : "off",
                     " -> ", args.state, ", at ", Text(slot.confirmed_flush_lsn)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunFailover(const FailoverArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  RETURN_IF_ERROR(server.RequireVersion(17, "failover slots"));
  if (!args.name.empty()) RETURN_IF_ERROR(FindSlot(server, args.name).status());
  if (!args.state.empty()) {
    RETURN_IF_ERROR(Alter(server, args));
    if (args.dry_run) return 0;
  }
  ASSIGN_OR_RETURN(const std::vector<Finding> findings,
                   server.in_recovery() ? OnStandby(server) : OnPrimary(server));
  Table table{{"", "WHAT", "FIX"}, {}};
  std::vector<Json> objects;
  for (const Finding& finding : findings) {
    table.rows.push_back({finding.good ? "✓" : "!", finding.what, finding.fix});
    objects.push_back(
        {{"ready", finding.good}, {"what", finding.what}, {"fix", TextOrNull(finding.fix)}});
  }
  if (args.common.output == "table") {
    PrintTable(table, std::cout);
  } else {
    Json json = Document("failover", server);
    json["findings"] = objects;
    PrintJson(json, std::cout);
  }
  return 0;
}

}  // namespace walpost::slots
