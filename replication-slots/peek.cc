// walpost slots peek: what a slot would deliver next, without consuming it.
#include <unistd.h>

#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "commands.h"
#include "events.h"
#include "output.h"

namespace walpost::slots {
namespace {

absl::StatusOr<int> PeekEvents(const PeekArgs& args, const Server& server,
                               std::optional<Lsn> from) {
  ASSIGN_OR_RETURN(const std::string publication,
                   PublicationFor(server, args.name, args.publication));
  Table table{{"ID", "TYPE", "COMMIT LSN", "AGE"}, {}};
  std::vector<Json> objects;
  std::size_t left = args.count;
  const auto on_event = [&](const SeenEvent& event) {
    if (from && event.commit_lsn < *from) return true;
    if (left == 0) return false;
    --left;
    if (!event.fault.empty()) std::cerr << "walpost: " << event.fault << "\n";
    if (args.common.output == "table") {
      table.rows.push_back({event.id, event.fault.empty() ? event.type : "(no event)",
                            FormatLsn(event.commit_lsn), Age(absl::Now() - event.committed_at)});
    } else if (event.fault.empty()) {
      objects.push_back(Json::parse(event.json));
      if (args.common.output == "ndjson") std::cout << event.json << "\n";
    }
    return left > 0;
  };
  ASSIGN_OR_RETURN(const capture::PeekSummary seen,
                   LookAtEvents(server, args.name, publication, args.timeout, on_event));
  if (args.common.output == "table") PrintTable(table, std::cout);
  if (args.common.output == "csv") PrintCsv(objects, std::cout);
  if (args.common.output == "json") {
    Json json = Document("peek", server);
    json["events"] = objects;
    json["complete"] = seen.complete;
    PrintJson(json, std::cout);
  }
  if (!seen.complete && left > 0) {
    std::cerr << "not all was looked at within " << Age(args.timeout) << ": --timeout\n";
  }
  return 0;
}

// A temporary copy can be read while somebody holds the slot, and ends with the session.
absl::StatusOr<int> PeekText(const PeekArgs& args, Server& server, std::optional<Lsn> from) {
  // In containers every process may have the same number.
  const std::string copy = absl::StrCat("walpost_peek_", getpid(), "_", std::random_device{}());
  RETURN_IF_ERROR(server.SetTimeout(args.timeout));
  RETURN_IF_ERROR(server
                      .Rows("SELECT pg_copy_logical_replication_slot(@name, @copy, true)",
                            {{"name", args.name}, {"copy", copy}})
                      .status());
  // The server keeps the changes on its side of the LIMIT; a huge transaction spills there.
  ASSIGN_OR_RETURN(
      const PgRows rows,
      server.Rows(
          absl::StrCat("SELECT lsn, xid, data FROM pg_logical_slot_peek_changes(@copy, NULL, ",
                       from ? "NULL" : "@count::int", ") WHERE lsn >= @from LIMIT @count::int"),
          {{"copy", copy},
           {"count", absl::StrCat(args.count)},
           {"from", FormatLsn(from.value_or(Lsn()))}}));
  Table table{{"LSN", "XID", "DATA"}, {}};
  std::vector<Json> objects;
  for (int row = 0; row < rows.size(); ++row) {
    table.rows.push_back({rows.Text(row, "lsn"), rows.Text(row, "xid"), rows.Text(row, "data")});
    objects.push_back({{"lsn", rows.Text(row, "lsn")},
                       {"xid", rows.Text(row, "xid")},
                       {"data", rows.Text(row, "data")}});
  }
  if (args.common.output == "table") {
    PrintTable(table, std::cout);
  } else if (args.common.output == "csv") {
    PrintCsv(objects, std::cout);
  } else if (args.common.output == "ndjson") {
    for (const Json& object : objects) PrintJson(object, std::cout);
  } else {
    Json json = Document("peek", server);
    json["changes"] = objects;
    PrintJson(json, std::cout);
  }
  return 0;
}

}  // namespace

absl::StatusOr<int> RunPeek(const PeekArgs& args) {
  std::optional<Lsn> from;
  if (!args.from.empty()) {
    ASSIGN_OR_RETURN(from, ParsePosition(args.from, "--from"));
  }
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  RETURN_IF_ERROR(server.RequirePrimary("peek"));
  ASSIGN_OR_RETURN(const SlotRow slot, FindLogicalSlot(server, args.name));
  return slot.plugin == "pgoutput" ? PeekEvents(args, server, from) : PeekText(args, server, from);
}

}  // namespace walpost::slots
