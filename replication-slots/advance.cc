// walpost slots advance: shows the events that would be skipped, asks, and moves the slot.
#include <iostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "commands.h"
#include "events.h"
#include "guard.h"
#include "output.h"

namespace walpost::slots {
namespace {

constexpr std::string_view kEventPrefix = "event:";
constexpr std::size_t kShown = 20;
constexpr absl::Duration kLookingTime = absl::Seconds(30);
constexpr absl::Duration kAdvanceTime = absl::Hours(1);

struct Skipped {
  std::vector<SeenEvent> events;  // without their JSON
  std::uint64_t others = 0;       // changes that are no events
  bool complete = false;
  std::string unknown;        // why they can't be listed
  std::optional<Lsn> behind;  // the position behind the event that was asked for
};

absl::Status Refuse(std::string_view what, std::string_view hint) {
  return WithExitCode(WithHint(Error(absl::StatusCode::kInvalidArgument, what), hint),
                      ExitCode::kUsage);
}

// What lies before `target`, or up to the event with `id`.
absl::StatusOr<Skipped> LookAhead(const Server& server, const SlotRow& slot,
                                  const AdvanceArgs& args, std::optional<Lsn> target,
                                  std::string_view id) {
  Skipped skipped;
  if (slot.plugin != "pgoutput") {
    skipped.unknown = absl::StrCat("its plugin is ", slot.plugin);
    return skipped;
  }
  ASSIGN_OR_RETURN(const std::string publication,
                   PublicationFor(server, args.name, args.publication));
  bool reached = false;
  const auto on_event = [&](const SeenEvent& event) {
    // The rest of the transaction goes with it.
    const std::optional<Lsn> until = target ? target : skipped.behind;
    reached = until && event.commit_lsn >= *until;
    if (reached) return false;
    skipped.events.push_back(event);
    skipped.events.back().json.clear();
    // A slot at this position begins behind the commit record.
    if (!id.empty() && event.id == id) skipped.behind = Lsn(event.commit_lsn.value + 1);
    return true;
  };
  ASSIGN_OR_RETURN(const capture::PeekSummary seen,
                   LookAtEvents(server, args.name, publication, kLookingTime, on_event));
  skipped.complete = seen.complete || reached;
  skipped.others = seen.other_changes;
  return skipped;
}

void Print(const Skipped& skipped, const AdvanceArgs& args, const Server& server) {
  if (args.common.output == "table") {
    Table table{{"ID", "TYPE", "COMMIT LSN", "AGE"}, {}};
    for (const SeenEvent& event : skipped.events) {
      if (table.rows.size() == kShown) break;
      table.rows.push_back({event.id, event.type, FormatLsn(event.commit_lsn),
                            Age(absl::Now() - event.committed_at)});
    }
    if (!table.rows.empty()) PrintTable(table, std::cerr);
    if (skipped.events.size() > kShown) {
      std::cerr << "... and " << skipped.events.size() - kShown << " more; -o json lists all\n";
    }
    return;
  }
  Json json = Document("advance", server);
  json["skipped"] = Json::array();
  for (const SeenEvent& event : skipped.events) {
    json["skipped"].push_back(
        {{"id", TextOrNull(event.id)},
         {"type", TextOrNull(event.type)},
         {"commit_lsn", FormatLsn(event.commit_lsn)},
         {"committed_at",
          absl::FormatTime(absl::RFC3339_full, event.committed_at, absl::UTCTimeZone())}});
  }
  json["complete"] = skipped.complete;
  PrintJson(json, std::cout);
}

}  // namespace

absl::StatusOr<int> RunAdvance(const AdvanceArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  RETURN_IF_ERROR(server.RequirePrimary("advance"));
  ASSIGN_OR_RETURN(const SlotRow slot, FindLogicalSlot(server, args.name));
  RETURN_IF_ERROR(RequireOurs(slot, args.consent));
  const std::string_view to = args.to;
  std::string_view id;
  std::optional<Lsn> target;
  if (to.substr(0, kEventPrefix.size()) == kEventPrefix) {
    id = to.substr(kEventPrefix.size());
  } else if (to == "end") {
    target = server.wal_end();
  } else {
    ASSIGN_OR_RETURN(target, ParsePosition(to, "--to"));
  }
  if (target && *target > server.wal_end()) {
    return Refuse(absl::StrCat("--to ", ToAbsl(to), " lies beyond the end of WAL, ",
                               FormatLsn(server.wal_end()),
                               ": what is committed until then would be skipped unseen"),
                  "--to end");
  }
  if (target && slot.confirmed_flush_lsn && *target <= *slot.confirmed_flush_lsn) {
    if (to == "end") {
      std::cerr << "slot '" << args.name << "' is at the end already\n";
      return 0;
    }
    return Refuse(absl::StrCat("slot '", args.name, "' is at ", Text(slot.confirmed_flush_lsn),
                               " already, and never goes back"),
                  "a position behind it");
  }
  ASSIGN_OR_RETURN(const Skipped skipped, LookAhead(server, slot, args, target, id));
  if (!id.empty()) {
    if (!skipped.behind) {
      return Refuse(absl::StrCat("no event with the id '", ToAbsl(id), "' is in slot '", args.name,
                                 "'", skipped.complete ? "" : " as far as was looked"),
                    absl::StrCat("walpost slots peek ", args.name));
    }
    target = skipped.behind;
  }
  Print(skipped, args, server);
  const Undelivered undelivered{.events = skipped.events.size(),
                                .others = skipped.others,
                                .complete = skipped.complete,
                                .oldest = skipped.events.empty()
                                              ? std::nullopt
                                              : std::optional(skipped.events.front().committed_at),
                                .unknown = skipped.unknown};
  Deed deed{.command = "advance"};
  deed.talk = args.common.output != "table";
  deed.sql.push_back(absl::StrCat("SELECT pg_replication_slot_advance(", QuoteLiteral(args.name),
                                  ", '", FormatLsn(*target), "')"));
  deed.consequences.push_back(
      absl::StrCat("slot '", args.name, "' from ", Text(slot.confirmed_flush_lsn), " to ",
                   FormatLsn(*target), ", skipping ", Describe(undelivered)));
  RETURN_IF_ERROR(RequireNoLoss(slot, undelivered, args.consent));
  ASSIGN_OR_RETURN(const bool go_on, Confirm(slot, deed, args.consent));
  if (!go_on) return 0;
  if (args.consent.terminate) RETURN_IF_ERROR(Terminate(server, slot));
  // It decodes all WAL in between, from restart_lsn on.
  RETURN_IF_ERROR(server.SetTimeout(kAdvanceTime));
  ASSIGN_OR_RETURN(
      const PgRows rows,
      server.Rows("SELECT end_lsn FROM pg_replication_slot_advance(@name, @lsn::pg_lsn)",
                  {{"name", args.name}, {"lsn", FormatLsn(*target)}}));
  Audit(server, absl::StrCat("advanced slot ", args.name, ": confirmed_flush_lsn ",
                             Text(slot.confirmed_flush_lsn), " -> ", rows.Text(0, "end_lsn")));
  return 0;
}

}  // namespace walpost::slots
