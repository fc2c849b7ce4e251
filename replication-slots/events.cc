#include "events.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "outbox/event_json.h"
#include "output.h"
#include "queries.h"

namespace walpost::slots {
namespace {

constexpr absl::Duration kCountingTime = absl::Seconds(5);

absl::StatusOr<std::vector<capture::TableName>> TablesOf(const Server& server,
                                                         const std::string& publication) {
  ASSIGN_OR_RETURN(const PgRows rows,
                   server.Rows("SELECT schemaname, tablename FROM pg_publication_tables WHERE "
                               "pubname = @publication",
                               {{"publication", publication}}));
  std::vector<capture::TableName> tables;
  tables.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) {
    tables.push_back({rows.Text(row, "schemaname"), rows.Text(row, "tablename")});
  }
  if (!tables.empty()) return tables;
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                     absl::StrCat("publication '", publication, "' has no tables")),
                               "name another one with --publication"),
                      ExitCode::kConfiguration);
}

}  // namespace

absl::StatusOr<std::string> PublicationFor(const Server& server, const std::string& slot,
                                           const std::string& asked) {
  ASSIGN_OR_RETURN(const PgRows rows,
                   server.Rows("SELECT pubname FROM pg_publication ORDER BY pubname"));
  const std::string& wanted = asked.empty() ? slot : asked;
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.Text(row, "pubname") == wanted) return wanted;
  }
  if (asked.empty() && rows.size() == 1) return rows.Text(0, "pubname");
  const std::string what = asked.empty()
                               ? absl::StrCat("no publication is named like slot '", slot, "'")
                               : absl::StrCat("publication '", asked, "' does not exist");
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kFailedPrecondition, what), "name it with --publication"),
      ExitCode::kConfiguration);
}

absl::StatusOr<capture::PeekSummary> LookAtEvents(
    const Server& server, const std::string& slot, const std::string& publication,
    absl::Duration timeout, absl::FunctionRef<bool(const SeenEvent&)> on_event) {
  ASSIGN_OR_RETURN(const std::vector<capture::TableName> tables, TablesOf(server, publication));
  outbox::EventJson reader({});
  bool enough = false;
  return capture::PeekSlot({.dsn = server.dsn(),
                            .slot = slot,
                            .publication = publication,
                            .tables = tables,
                            .message_prefixes = {},
                            .all_messages = true,
                            .timeout = timeout,
                            .address = server.session().address()},
                           [&](const capture::Batch& batch, const capture::Identity& identity) {
                             for (std::size_t row = 0; row < batch.size() && !enough; ++row) {
                               absl::StatusOr<std::string> json = reader.Line(batch, row, identity);
                               SeenEvent event{std::string(reader.event_id()),
                                               std::string(reader.event_type()),
                                               batch.transaction.commit_lsn,
                                               batch.transaction.commit_time,
                                               "",
                                               ""};
                               if (json.ok()) {
                                 event.json = *std::move(json);
                               } else {
                                 event.fault = MessageOf(json.status());
                               }
                               enough = !on_event(event);
                             }
                             return !enough;
                           });
}

Undelivered CountUndelivered(const Server& server, const SlotRow& slot,
                             const std::string& publication, bool certain) {
  Undelivered result;
  if (slot.plugin != "pgoutput") {
    result.unknown = absl::StrCat("its plugin is ", slot.plugin);
  } else if (slot.database != server.database()) {
    result.unknown = absl::StrCat("it belongs to database ", slot.database);
  } else if (!server.may_replicate()) {
    result.unknown = absl::StrCat("role ", server.role(), " lacks REPLICATION");
  } else if (slot.situation.lost()) {
    result.unknown = "it was invalidated";
  }
  if (!result.unknown.empty()) return result;
  const absl::StatusOr<std::string> name = PublicationFor(server, slot.name(), publication);
  if (!name.ok()) {
    result.unknown = absl::StrCat(ToAbsl(MessageOf(name.status())), ": ", HintOf(name.status()));
  } else if (certain && publication.empty() && *name != slot.name()) {
    result.unknown = "its publication is not known: name it with --publication";
  }
  if (!result.unknown.empty()) return result;
  const absl::StatusOr<capture::PeekSummary> seen =
      LookAtEvents(server, slot.name(), *name, kCountingTime, [&result](const SeenEvent& event) {
        if (result.events++ == 0) result.oldest = event.committed_at;
        return true;
      });
  if (seen.ok()) {
    result.complete = seen->complete;
    result.others = seen->other_changes;
  } else {
    result.unknown = MessageOf(seen.status());
  }
  return result;
}

std::string Describe(const Undelivered& undelivered) {
  if (!undelivered.unknown.empty()) {
    return absl::StrCat("undelivered events can't be counted: ", undelivered.unknown);
  }
  std::string text = absl::StrCat(undelivered.complete ? "" : "at least ", undelivered.events,
                                  " undelivered events");
  if (undelivered.oldest) {
    absl::StrAppend(&text, ", the oldest ", Age(absl::Now() - *undelivered.oldest), " old");
  }
  if (undelivered.others > 0) {
    absl::StrAppend(&text, ", and ", undelivered.others,
                    " other changes (updates, deletes, messages)");
  }
  return text;
}

}  // namespace walpost::slots
