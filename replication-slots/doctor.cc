// walpost slots doctor: an audit of the whole server for logical replication.
#include <iostream>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "commands.h"
#include "output.h"
#include "queries.h"

namespace walpost::slots {
namespace {

using capture::Severity;

constexpr double kHours = 3600;

class Examination {
 public:
  Examination(Server& server, std::optional<double> rate) : server_(server), rate_(rate) {}

  absl::Status Run() {
    RETURN_IF_ERROR(Read());
    WalLevel();
    FreePlaces();
    KeepSize();
    Timeouts();
    Spill();
    Slots();
    // Of the primary: nothing of it could be mended here.
    if (!server_.in_recovery()) {
      RETURN_IF_ERROR(Publications());
      RETURN_IF_ERROR(Transactions());
      RETURN_IF_ERROR(Origins());
    }
    Version();
    return absl::OkStatus();
  }

  struct Finding {
    Severity severity = Severity::kOk;
    std::string what;
    std::string why;  // "" when OK
    std::string sql;  // the fix, as it can be run; "" where none is needed or only people can tell
  };
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  absl::Status Read() {
    ASSIGN_OR_RETURN(settings_, ReadSettings(server_));
    ASSIGN_OR_RETURN(slots_, ReadSlots(server_, rate_));
    return absl::OkStatus();
  }

  void Find(Severity severity, std::string what, std::string why = "", std::string sql = "") {
    findings_.push_back({severity, std::move(what), std::move(why), std::move(sql)});
  }
  std::int64_t Setting(const std::string& name) const {
    std::int64_t value = 0;
    const auto found = settings_.find(name);
    return found != settings_.end() && absl::SimpleAtoi(found->second, &value) ? value : 0;
  }

  void WalLevel() {
    const std::string& level = settings_["wal_level"];
    if (level == "logical") return Find(Severity::kOk, "wal_level is logical");
    Find(Severity::kCritical, absl::StrCat("wal_level is ", level),
         "nothing can be decoded from this WAL",
         "ALTER SYSTEM SET wal_level = 'logical'; -- then restart the server");
  }

  void FreePlaces() {
    const auto slots = static_cast<std::int64_t>(slots_.size());
    const std::int64_t left = Setting("max_replication_slots") - slots;
    const std::string what =
        absl::StrCat(left, " of ", Setting("max_replication_slots"), " replication slots are free");
    if (left > 1) {
      Find(Severity::kOk, what);
    } else {
      Find(left > 0 ? Severity::kWarning : Severity::kCritical, what,
           "peek needs one for its copy, and so does every new consumer",
           absl::StrCat("ALTER SYSTEM SET max_replication_slots = ",
                        Setting("max_replication_slots") + 10, "; -- then restart the server"));
    }
    if (Setting("max_wal_senders") < slots + 1) {
      Find(
          Severity::kWarning,
          absl::StrCat("max_wal_senders is ", Setting("max_wal_senders"), " for ", slots, " slots"),
          "a consumer may find no walsender",
          absl::StrCat("ALTER SYSTEM SET max_wal_senders = ", slots + 10,
                       "; -- then restart the server"));
    } else {
      Find(Severity::kOk, absl::StrCat("max_wal_senders is ", Setting("max_wal_senders")));
    }
  }

  void KeepSize() {
    const std::int64_t megabytes = Setting("max_slot_wal_keep_size");
    if (megabytes < 0) {
      return Find(Severity::kWarning, "max_slot_wal_keep_size is unlimited",
                  "one abandoned slot can fill the disk and stop the database",
                  "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();");
    }
    const std::int64_t bytes = megabytes << 20;
    const std::string what = absl::StrCat("max_slot_wal_keep_size is ", Bytes(bytes));
    if (!rate_ || *rate_ <= 0) return Find(Severity::kOk, what);
    const double seconds = static_cast<double>(bytes) / *rate_;
    if (seconds >= 4 * kHours) return Find(Severity::kOk, what);
    const auto wanted = static_cast<std::int64_t>(*rate_ * 8 * kHours) >> 30;
    Find(seconds < kHours ? Severity::kCritical : Severity::kWarning, what,
         absl::StrCat("at the present WAL rate an outage of ", Age(absl::Seconds(seconds)),
                      " invalidates a slot"),
         absl::StrCat("ALTER SYSTEM SET max_slot_wal_keep_size = '", wanted + 1,
                      "GB'; SELECT pg_reload_conf();"));
  }

  void Timeouts() {
    const std::int64_t sender = Setting("wal_sender_timeout");
    if (sender == 0) {
      Find(Severity::kWarning, "wal_sender_timeout is off",
           "a consumer behind a dead line keeps its slot for ever",
           "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();");
    } else if (sender < 5000) {
      Find(Severity::kWarning, absl::StrCat("wal_sender_timeout is ", sender, " ms"),
           "a short pause of a consumer ends its session",
           "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();");
    } else {
      Find(Severity::kOk, absl::StrCat("wal_sender_timeout is ", sender / 1000, " s"));
    }
    if (server_.major() < 18) return;
    const std::int64_t idle = Setting("idle_replication_slot_timeout");
    if (idle > 0 && idle < std::int64_t{86400}) {
      Find(Severity::kWarning, absl::StrCat("idle_replication_slot_timeout is ", idle, " s"),
           "a consumer that rests longer loses its slot and its events",
           "ALTER SYSTEM SET idle_replication_slot_timeout = '3d'; SELECT pg_reload_conf();");
    } else {
      Find(Severity::kOk, "idle_replication_slot_timeout leaves slots a day or more");
    }
  }

  void Spill() {
    const std::int64_t memory = Setting("logical_decoding_work_mem") << 10;
    for (const SlotRow& slot : slots_) {
      if (slot.spill_bytes.value_or(0) <= 10 * memory) continue;
      return Find(
          Severity::kWarning,
          absl::StrCat("slot ", slot.name(), " has spilled ", Bytes(slot.spill_bytes)),
          absl::StrCat("its transactions exceed logical_decoding_work_mem, ", Bytes(memory)),
          "ALTER SYSTEM SET logical_decoding_work_mem = '256MB'; SELECT pg_reload_conf();");
    }
    Find(Severity::kOk, absl::StrCat("logical_decoding_work_mem is ", Bytes(memory)));
  }

  void Slots() {
    for (const SlotRow& slot : slots_) {
      // Only what is lost already may be dropped without looking at it.
      const bool lost = slot.situation.lost();
      const std::string sql =
          lost && !slot.situation.synced && !slot.situation.temporary
              ? absl::StrCat("SELECT pg_drop_replication_slot(", QuoteLiteral(slot.name()), ");")
              : "";
      Find(slot.verdict.severity, absl::StrCat("slot ", slot.name()), slot.verdict.reason, sql);
    }
  }

  absl::Status Publications() {
    ASSIGN_OR_RETURN(const PgRows rows, server_.Rows(kPublicationSql, {{"name", ""}}));
    for (int row = 0; row < rows.size(); ++row) {
      const std::string name = rows.Text(row, "pubname");
      const std::string quoted = QuoteIdentifier(name);
      const std::string table = rows.Text(row, "table_name");
      const std::string full = QuoteTable(rows.Text(row, "schema_name"), table);
      const std::string what = absl::StrCat("publication ", name, table.empty() ? "" : ", table ",
                                            table.empty() ? "" : full);
      if (table.empty() && !rows.IsTrue(row, "puballtables") && !PublishesSchema(name)) {
        Find(Severity::kWarning, what, "matches no table: its consumers get nothing",
             absl::StrCat("ALTER PUBLICATION ", quoted, " ADD TABLE ...;"));
      } else if (!rows.IsTrue(row, "pubinsert")) {
        Find(Severity::kWarning, what, "does not publish inserts",
             absl::StrCat("ALTER PUBLICATION ", quoted, " SET (publish = '",
                          rows.Text(row, "with_insert"), "');"));
      } else if (rows.IsTrue(row, "filtered")) {
        Find(Severity::kWarning, what, "has a row filter or a column list: rows may never come",
             absl::StrCat("BEGIN; ALTER PUBLICATION ", quoted, " DROP TABLE ", full,
                          "; ALTER PUBLICATION ", quoted, " ADD TABLE ", full, "; COMMIT;"));
      } else if (rows.IsTrue(row, "published_as_leaves")) {
        Find(Severity::kWarning, what, "rows come under the names of its partitions",
             absl::StrCat("ALTER PUBLICATION ", quoted,
                          " SET (publish_via_partition_root = true);"));
      } else if (rows.IsTrue(row, "unlogged")) {
        Find(Severity::kWarning, what, "is unlogged: its rows are in no WAL",
             absl::StrCat("ALTER TABLE ", full, " SET LOGGED;"));
      } else {
        Find(Severity::kOk, what);
      }
    }
    return absl::OkStatus();
  }

  bool PublishesSchema(const std::string& name) const {
    if (server_.major() < 15) return false;
    const auto rows = server_.Rows(
        "SELECT 1 FROM pg_publication_namespace n JOIN pg_publication p ON p.oid = n.pnpubid WHERE "
        "p.pubname = @name",
        {{"name", name}});
    return rows.ok() && rows->size() > 0;
  }

  absl::Status Transactions() {
    bool found = false;
    const auto look = [&](const PgRows& rows, int row, const std::string& what,
                          const std::string& sql) {
      std::int64_t age = 0;
      if (!absl::SimpleAtoi(rows.Text(row, "age_seconds"), &age) || age < 600) return;
      found = true;
      Find(age < 3600 ? Severity::kWarning : Severity::kCritical, what,
           absl::StrCat(Age(absl::Seconds(age)), " old: no slot's restart_lsn passes its begin"),
           sql);
    };
    ASSIGN_OR_RETURN(const PgRows running, server_.Rows(kTransactionsSql));
    for (int row = 0; row < running.size(); ++row) {
      const std::string pid = running.Text(row, "pid");
      look(running, row,
           absl::StrCat("transaction of pid ", pid, " (", running.Text(row, "application_name"),
                        ")"),
           absl::StrCat("SELECT pg_terminate_backend(", pid, ");"));
    }
    ASSIGN_OR_RETURN(const PgRows prepared, server_.Rows(kPreparedSql));
    for (int row = 0; row < prepared.size(); ++row) {
      const std::string gid = QuoteLiteral(prepared.Text(row, "gid"));
      look(prepared, row, absl::StrCat("prepared transaction ", gid),
           absl::StrCat("-- in database ", prepared.Text(row, "database"), ": COMMIT PREPARED ",
                        gid, "; or ROLLBACK PREPARED ", gid, ";"));
    }
    if (!found) Find(Severity::kOk, "no transaction is older than 10 minutes");
    return absl::OkStatus();
  }

  absl::Status Origins() {
    const auto rows = server_.Rows(kOriginsSql);
    if (!rows.ok()) {
      Find(Severity::kOk, absl::StrCat("replication origins: not to be seen (",
                                       ToAbsl(MessageOf(rows.status())), ")"));
      return absl::OkStatus();
    }
    for (int row = 0; row < rows->size(); ++row) {
      const std::string name = rows->Text(row, "roname");
      Find(Severity::kWarning, absl::StrCat("replication origin ", name), "no subscription uses it",
           absl::StrCat("SELECT pg_replication_origin_drop(", QuoteLiteral(name), ");"));
    }
    if (rows->size() == 0) Find(Severity::kOk, "no orphaned replication origins");
    return absl::OkStatus();
  }

  // A publication altered beside a running transaction could lose rows before these releases.
  void Version() {
    static const std::map<int, int> kFixed = {{13, 21}, {14, 18}, {15, 13}, {16, 9}, {17, 5}};
    const int minor = server_.version() % 10000;
    const std::string name = absl::StrCat(server_.major(), ".", minor);
    const auto fixed = kFixed.find(server_.major());
    if (fixed == kFixed.end() || minor >= fixed->second) {
      return Find(Severity::kOk, absl::StrCat("Postgres ", name));
    }
    Find(
        Severity::kWarning, absl::StrCat("Postgres ", name),
        absl::StrCat("before ", server_.major(), ".", fixed->second,
                     " logical decoding can miss rows of transactions that run while a publication "
                     "is altered"),
        "-- install the newest minor release");
  }

  Server& server_;
  const std::optional<double> rate_;
  std::map<std::string, std::string> settings_;
  std::vector<SlotRow> slots_;
  std::vector<Finding> findings_;
};

const char* MarkOf(Severity severity) {
  return severity == Severity::kOk ? "✓" : severity == Severity::kWarning ? "!" : "✗";
}

}  // namespace

absl::StatusOr<int> RunDoctor(const DoctorArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  ASSIGN_OR_RETURN(const std::optional<double> rate, MeasureWalRate(server, args.sample));
  Examination audit(server, rate);
  RETURN_IF_ERROR(audit.Run());
  std::vector<Json> objects;
  for (const auto& finding : audit.findings()) {
    if (args.common.output == "table") {
      std::cout << MarkOf(finding.severity) << " " << finding.what
                << (finding.why.empty() ? "" : ": ") << finding.why << "\n";
      if (!finding.sql.empty()) std::cout << "    " << finding.sql << "\n";
      continue;
    }
    objects.push_back({{"verdict", NameOf(finding.severity)},
                       {"what", finding.what},
                       {"why", TextOrNull(finding.why)},
                       {"sql", TextOrNull(finding.sql)}});
  }
  if (args.common.output == "csv") PrintCsv(objects, std::cout);
  if (args.common.output == "ndjson") {
    for (const Json& object : objects) PrintJson(object, std::cout);
  }
  if (args.common.output == "json") {
    Json json = Document("doctor", server);
    json["findings"] = objects;
    PrintJson(json, std::cout);
  }
  TellMissingRights(server);
  return 0;
}

}  // namespace walpost::slots
