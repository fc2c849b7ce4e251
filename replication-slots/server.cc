#include "server.h"

#include <poll.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "base/string_view.h"
#include "queries.h"

namespace walpost::slots {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
// More than the server's own bound, which says more.
constexpr absl::Duration kGrace = absl::Seconds(30);
constexpr std::string_view kBounds =
    "SET lock_timeout = '5s'; SET "
    "idle_in_transaction_session_timeout "
    "= '60s'; SET datestyle = 'ISO'; SET timezone = 'UTC'";

}  // namespace

absl::StatusOr<Lsn> ParsePosition(std::string_view text, std::string_view option) {
  if (const std::optional<Lsn> lsn = ParseLsn(text)) return *lsn;
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kInvalidArgument,
                     absl::StrCat(ToAbsl(option), ": '", ToAbsl(text), "' is no LSN")),
               "write it as the server does: 16/B374D848"),
      ExitCode::kUsage);
}

void Pause(absl::Duration time) {
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
  poll(nullptr, 0, static_cast<int>(std::min(absl::ToInt64Milliseconds(time), kLongest)));
}

absl::StatusOr<Server> Server::Open(const ConnectionFlags& connection) {
  RETURN_IF_ERROR(CheckConnectionFlags(connection));
  Server server;
  server.dsn_ = ApplyConnectionFlags("", connection);
  absl::StatusOr<std::unique_ptr<PgSession>> session =
      Connect({.dsn = server.dsn_, .application_name = "walpost slots"}, kConnectTimeout);
  if (session.status().code() == absl::StatusCode::kInvalidArgument) {
    return WithExitCode(session.status(), ExitCode::kUsage);
  }
  RETURN_IF_ERROR(session.status());
  server.session_ = *std::move(session);
  RETURN_IF_ERROR(server.RequireVersion(14, "walpost slots"));
  RETURN_IF_ERROR(RunQuery(*server.session_, kBounds, kGrace).status());
  RETURN_IF_ERROR(server.SetTimeout(server.timeout_));
  RETURN_IF_ERROR(server.Refresh());
  return server;
}

absl::StatusOr<PgRows> Server::Rows(
    std::string_view sql,
    std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) const {
  std::string text(sql);
  // From the end, so that a value can't stand for another placeholder.
  for (std::size_t at = text.rfind('@'); at != std::string::npos && at > 0;
       at = text.rfind('@', at - 1)) {
    for (const auto& [name, value] : parameters) {
      if (text.compare(at + 1, name.size(), name) != 0) continue;
      text.replace(at, name.size() + 1, session_->QuoteLiteral(value));
      break;
    }
  }
  return RunQuery(*session_, text, timeout_ + kGrace);
}

absl::StatusOr<std::unique_ptr<PgSession>> Server::OpenReplication() const {
  return Connect({.dsn = dsn_,
                  .replication = true,
                  .address = session_->address(),
                  .application_name = "walpost slots"},
                 kConnectTimeout);
}

absl::Status Server::SetTimeout(absl::Duration timeout) {
  timeout_ = timeout;
  // Zero would be no bound at all.
  const std::int64_t milliseconds = std::max<std::int64_t>(1, absl::ToInt64Milliseconds(timeout));
  return Rows(absl::StrCat("SET statement_timeout = ", milliseconds)).status();
}

absl::Status Server::Refresh() {
  ASSIGN_OR_RETURN(const PgRows rows, Rows(kServerSql));
  database_ = rows.Text(0, "database");
  role_ = rows.Text(0, "role");
  in_recovery_ = rows.IsTrue(0, "in_recovery");
  sees_activity_ = rows.IsTrue(0, "sees_activity");
  may_replicate_ = rows.IsTrue(0, "may_replicate");
  wal_end_ = ParseLsn(rows.Text(0, "wal_end")).value_or(Lsn());
  return absl::OkStatus();
}

absl::Status Server::RequirePrimary(std::string_view command) const {
  if (!in_recovery_) return absl::OkStatus();
  return WithExitCode(
      WithHint(
          Error(absl::StatusCode::kFailedPrecondition,
                absl::StrCat("this server is a standby: ", ToAbsl(command), " can't run here")),
          "connect to the primary: name all hosts with target_session_attrs=read-write"),
      ExitCode::kConfiguration);
}

absl::Status Server::RequireVersion(int major, std::string_view what) const {
  if (this->major() >= major) return absl::OkStatus();
  return WithExitCode(Error(absl::StatusCode::kFailedPrecondition,
                            absl::StrCat(ToAbsl(what), " needs Postgres ", major,
                                         " or newer; this server is ", this->major())),
                      ExitCode::kConfiguration);
}

void Audit(const Server& server, std::string_view what) {
  std::cerr << "walpost slots: "
            << absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()) << " "
            << server.role() << "@" << server.database() << " " << what << "\n";
}

void TellMissingRights(const Server& server) {
  if (server.sees_activity()) return;
  std::cerr << "role " << server.role()
            << " may not see the sessions of others: who holds a slot is left out\nHINT: GRANT "
               "pg_monitor TO "
            << QuoteIdentifier(server.role()) << "\n";
}

}  // namespace walpost::slots
