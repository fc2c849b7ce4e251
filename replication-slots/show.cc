// walpost slots show: everything about one slot, what pins it, and what to type next.
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "commands.h"
#include "events.h"
#include "output.h"
#include "queries.h"

namespace walpost::slots {
namespace {

struct Pin {
  std::string what;
  std::string hint;
};

std::int64_t Seconds(const PgRows& rows, int row) {
  std::int64_t seconds = 0;
  return absl::SimpleAtoi(rows.Text(row, "age_seconds"), &seconds) ? seconds : 0;
}

// What holds restart_lsn back, the likeliest first.
absl::StatusOr<std::vector<Pin>> Pins(const Server& server, const SlotRow& slot,
                                      absl::Duration old) {
  std::vector<Pin> pins;
  ASSIGN_OR_RETURN(const PgRows prepared, server.Rows(kPreparedSql));
  for (int row = 0; row < prepared.size(); ++row) {
    if (absl::Seconds(Seconds(prepared, row)) < old) continue;
    const std::string gid = QuoteLiteral(prepared.Text(row, "gid"));
    pins.push_back({absl::StrCat("prepared transaction ", gid, " of ", prepared.Text(row, "owner"),
                                 " in database ", prepared.Text(row, "database"), ", ",
                                 Age(absl::Seconds(Seconds(prepared, row))), " old"),
                    absl::StrCat("COMMIT PREPARED ", gid, " or ROLLBACK PREPARED ", gid,
                                 ", connected to database ", prepared.Text(row, "database"))});
  }
  ASSIGN_OR_RETURN(const PgRows running, server.Rows(kTransactionsSql));
  for (int row = 0; row < running.size(); ++row) {
    if (absl::Seconds(Seconds(running, row)) < old) continue;
    pins.push_back(
        {absl::StrCat("transaction of pid ", running.Text(row, "pid"), " (",
                      running.Text(row, "usename"), ", ", running.Text(row, "application_name"),
                      ", ", running.Text(row, "state"), "), ",
                      Age(absl::Seconds(Seconds(running, row))), " old"),
         absl::StrCat("let it end, or SELECT pg_terminate_backend(", running.Text(row, "pid"),
                      ")")});
  }
  const capture::SlotSituation& s = slot.situation;
  const std::int64_t unconfirmed = s.unconfirmed_bytes.value_or(0);
  if (unconfirmed * 2 > s.retained_bytes.value_or(0) && unconfirmed > (1 << 20)) {
    pins.push_back(
        s.active ? Pin{absl::StrCat("its consumer has not confirmed ", Bytes(unconfirmed)),
                       "look at the consumer: what does it wait for?"}
                 : Pin{absl::StrCat("nobody reads it: ", Bytes(unconfirmed), " are not confirmed"),
                       absl::StrCat("start its consumer; or, if it is not needed: walpost "
                                    "slots drop ",
                                    slot.name())});
  }
  return pins;
}

absl::StatusOr<Json> PublicationJson(const Server& server, const std::string& name) {
  ASSIGN_OR_RETURN(const PgRows rows, server.Rows(kPublicationSql, {{"name", name}}));
  Json json;
  json["name"] = name;
  json["publishes_insert"] = rows.size() > 0 && rows.IsTrue(0, "pubinsert");
  json["all_tables"] = rows.size() > 0 && rows.IsTrue(0, "puballtables");
  json["via_partition_root"] = rows.size() > 0 && rows.IsTrue(0, "pubviaroot");
  json["tables"] = Json::array();
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.Text(row, "table_name").empty()) continue;
    json["tables"].push_back(
        {{"table", rows.Text(row, "schema_name") + "." + rows.Text(row, "table_name")},
         {"filtered", rows.IsTrue(row, "filtered")}});
  }
  return json;
}

absl::StatusOr<Json> ConsumerJson(const Server& server, const SlotRow& slot) {
  if (!slot.active_pid) return Json(nullptr);
  ASSIGN_OR_RETURN(const PgRows rows,
                   server.Rows(kConsumerSql, {{"pid", absl::StrCat(*slot.active_pid)}}));
  if (rows.size() == 0) return Json(nullptr);
  double age = 0;
  const bool known = absl::SimpleAtod(rows.Text(0, "reply_age_seconds"), &age);
  return Json{{"sent_lsn", TextOrNull(rows.Text(0, "sent_lsn"))},
              {"flush_lsn", TextOrNull(rows.Text(0, "flush_lsn"))},
              {"reply_age_seconds", known ? Json(age) : Json(nullptr)}};
}

void PrintAsText(const Json& json, const std::string& undelivered) {
  for (const auto& [key, value] : json["slot"].items()) {
    if (value.is_null() || key == "reason" || key == "hint" || key == "verdict") continue;
    const bool bytes = key.size() > 6 && key.substr(key.size() - 6) == "_bytes";
    std::cout << key << ": "
              << (value.is_string() ? value.get<std::string>()
                  : bytes           ? Bytes(value.get<std::int64_t>())
                                    : value.dump())
              << "\n";
  }
  if (json["publication"].is_object()) {
    std::cout << "publication: " << json["publication"]["name"].get<std::string>()
              << (json["publication"]["publishes_insert"].get<bool>() ? ""
                                                                      : ", publishes no inserts");
    for (const Json& table : json["publication"]["tables"]) {
      std::cout << (&table == &json["publication"]["tables"].front() ? ": " : ", ")
                << table["table"].get<std::string>()
                << (table["filtered"].get<bool>() ? " (filtered)" : "");
    }
    std::cout << "\n";
  }
  if (json["consumer"].is_object()) std::cout << "consumer: " << json["consumer"].dump() << "\n";
  std::cout << undelivered << "\n\n";
  const Json& slot = json["slot"];
  std::cout << slot["verdict"].get<std::string>();
  if (slot["reason"].is_string()) std::cout << ": " << slot["reason"].get<std::string>();
  std::cout << "\n";
  for (const Json& pin : json["pinned_by"]) {
    std::cout << "pinned by " << pin["what"].get<std::string>() << "\n  → "
              << pin["hint"].get<std::string>() << "\n";
  }
  if (json["pinned_by"].empty() && slot["hint"].is_string()) {
    std::cout << "  → " << slot["hint"].get<std::string>() << "\n";
  }
}

}  // namespace

absl::StatusOr<int> RunShow(const ShowArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  RETURN_IF_ERROR(FindSlot(server, args.name).status());  // before anybody waits for the sample
  ASSIGN_OR_RETURN(const std::optional<double> rate, MeasureWalRate(server, args.sample));
  ASSIGN_OR_RETURN(const SlotRow slot, FindSlot(server, args.name, rate));
  Json json = Document("show", server);
  json["slot"] = ToJson(slot);
  if (json["slot"]["hint"] == Json("walpost slots show " + args.name))
    json["slot"]["hint"] = nullptr;
  json["publication"] = nullptr;
  if (slot.plugin == "pgoutput" && slot.database == server.database()) {
    const auto publication = PublicationFor(server, args.name, args.publication);
    if (publication.ok()) {
      ASSIGN_OR_RETURN(json["publication"], PublicationJson(server, *publication));
    }
  }
  ASSIGN_OR_RETURN(json["consumer"], ConsumerJson(server, slot));
  const Undelivered undelivered = CountUndelivered(server, slot, args.publication, false);
  json["undelivered_events"] =
      undelivered.unknown.empty() ? Json(undelivered.events) : Json(nullptr);
  json["undelivered_complete"] = undelivered.complete;
  json["oldest_undelivered"] =
      undelivered.oldest
          ? Json(absl::FormatTime(absl::RFC3339_full, *undelivered.oldest, absl::UTCTimeZone()))
          : Json(nullptr);
  json["pinned_by"] = Json::array();
  ASSIGN_OR_RETURN(const std::vector<Pin> pins, Pins(server, slot, args.old));
  for (const Pin& pin : pins) json["pinned_by"].push_back({{"what", pin.what}, {"hint", pin.hint}});
  if (args.common.output == "table") {
    PrintAsText(json, Describe(undelivered));
  } else {
    PrintJson(json, std::cout);
  }
  TellMissingRights(server);
  return 0;
}

}  // namespace walpost::slots
