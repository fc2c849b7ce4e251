#include "capture/wal/connection.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

// Text output depends on these, and roles, databases and the environment can set others. A
// transaction timeout (17 and newer) would kill the walsender inside a slowly read transaction.
std::string PinningSql(int server_version) {
  std::string sql =
      "SET DateStyle = 'ISO'; SET TimeZone = 'UTC'; SET IntervalStyle = 'postgres'; "
      "SET extra_float_digits = 3; SET bytea_output = 'hex'; SET client_encoding = 'UTF8'; "
      "SET client_min_messages = 'warning'";
  if (server_version >= 170000) sql += "; SET transaction_timeout = 0";
  return sql;
}

std::string QuoteForList(std::string_view identifier) {
  std::string quoted = "\"";
  for (const char c : identifier) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Start(ConnectionOptions options) {
  options.pg.replication = true;
  std::unique_ptr<Connection> connection(new Connection(std::move(options)));
  ASSIGN_OR_RETURN(connection->session_, PgSession::Start(connection->options_.pg));
  return connection;
}

absl::Status Connection::Step() {
  RETURN_IF_ERROR(session_->Step());
  if (phase_ == Phase::kConnecting) {
    if (!session_->idle()) return absl::OkStatus();
    phase_ = Phase::kPinning;
    return session_->Send(PinningSql(session_->server_version()));
  }
  // A short answer may be complete at once, and its socket silent afterwards.
  while (!streaming()) {
    std::optional<absl::StatusOr<PgRows>> result = session_->TakeResult();
    if (!result) return absl::OkStatus();
    RETURN_IF_ERROR(result->status());
    RETURN_IF_ERROR(Advance(**result));
  }
  return absl::OkStatus();
}

absl::Status Connection::Advance(const PgRows& rows) {
  switch (phase_) {
    case Phase::kPinning:
      phase_ = Phase::kTimeout;
      return session_->Send("SELECT setting FROM pg_settings WHERE name = 'wal_sender_timeout'");
    case Phase::kTimeout: {
      std::int64_t milliseconds = 0;
      if (!absl::SimpleAtoi(rows.Text(0, "setting"), &milliseconds)) {
        return Error(absl::StatusCode::kInternal, "wal_sender_timeout is not a number");
      }
      wal_sender_timeout_ = absl::Milliseconds(milliseconds);
      phase_ = Phase::kIdentifying;
      return session_->Send("IDENTIFY_SYSTEM");
    }
    case Phase::kIdentifying: {
      const std::optional<Lsn> position = ParseLsn(rows.Text(0, "xlogpos"));
      if (!absl::SimpleAtoi(rows.Text(0, "systemid"), &identity_.system_identifier) ||
          !absl::SimpleAtoi(rows.Text(0, "timeline"), &identity_.timeline) || !position) {
        return Error(absl::StatusCode::kInternal, "IDENTIFY_SYSTEM gave no identity");
      }
      identity_.database = rows.Text(0, "dbname");
      xlogpos_ = *position;
      if (options_.copy_of.empty()) {
        phase_ = Phase::kStarting;
        return session_->Send(StartCommand());
      }
      phase_ = Phase::kCopying;
      return session_->Send(absl::StrCat("SELECT pg_copy_logical_replication_slot(",
                                         session_->QuoteLiteral(options_.copy_of), ", ",
                                         session_->QuoteLiteral(options_.slot), ", true)"));
    }
    case Phase::kCopying:
      phase_ = Phase::kStarting;
      return session_->Send(StartCommand());
    case Phase::kStarting:
      if (!session_->copy_both()) {
        return Error(absl::StatusCode::kInternal, "START_REPLICATION did not start a stream");
      }
      phase_ = Phase::kStreaming;
      return absl::OkStatus();
    case Phase::kConnecting:
    case Phase::kStreaming:
      break;
  }
  return absl::OkStatus();
}

std::string Connection::StartCommand() const {
  return absl::StrCat("START_REPLICATION SLOT ", session_->QuoteIdentifier(options_.slot),
                      " LOGICAL 0/0 (proto_version '1', binary 'true'",
                      options_.messages ? ", messages 'true'" : "", ", publication_names ",
                      session_->QuoteLiteral(QuoteForList(options_.publication)), ")");
}

absl::StatusOr<std::optional<OwnedFrame>> Connection::Next() {
  PGconn* handle = session_->handle();
  bool got_nothing = false;
  while (true) {
    char* memory = nullptr;
    const int size = PQgetCopyData(handle, &memory, 1);
    if (size > 0) {
      OwnedFrame frame;
      frame.memory = {memory, [](void* p) { PQfreemem(p); }};
      frame.size = static_cast<std::size_t>(size);
      return std::optional<OwnedFrame>(std::move(frame));
    }
    if (size < 0) return EndOfCopy();
    // One PQconsumeInput takes at most libpq's buffer: go on until one brings no whole frame.
    if (!maybe_input_ || got_nothing) {
      maybe_input_ = false;
      return std::optional<OwnedFrame>();
    }
    if (PQconsumeInput(handle) == 0) {
      return Error(absl::StatusCode::kUnavailable,
                   absl::StrCat("the replication connection was lost: ", PQerrorMessage(handle)));
    }
    got_nothing = true;
  }
}

absl::Status Connection::EndOfCopy() {
  // Errors of the server come as results after the end of the copy, not as the copy's error.
  absl::Status status = Error(absl::StatusCode::kUnavailable, "the server ended the stream");
  for (int i = 0; i < 4 && PQisBusy(session_->handle()) == 0; ++i) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQgetResult(session_->handle()),
                                                                &PQclear);
    if (result == nullptr) break;
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
    if (state != nullptr) return PgError(state, message != nullptr ? message : "");
  }
  return status;
}

absl::Status Connection::Send(const std::string& status_update) {
  if (PQputCopyData(session_->handle(), status_update.data(),
                    static_cast<int>(status_update.size())) != 1) {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat("can't send a status update: ", PQerrorMessage(session_->handle())));
  }
  return Flush();
}

absl::Status Connection::Flush() {
  const int left = PQflush(session_->handle());
  if (left < 0) {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat("can't send a status update: ", PQerrorMessage(session_->handle())));
  }
  flush_pending_ = left == 1;
  return absl::OkStatus();
}

pollfd Connection::poll(bool reading) const {
  if (!streaming()) return session_->poll();
  short events = reading ? POLLIN : 0;
  if (flush_pending_) events = static_cast<short>(events | POLLOUT);
  return {events == 0 ? -1 : PQsocket(session_->handle()), events, 0};
}

}  // namespace walpost::capture
