#include "base/pq.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <memory>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/status.h"

namespace walpost {
namespace {

constexpr char kSqlStateUrl[] = "walpost/sqlstate";
constexpr std::size_t kNoticesKept = 64;

absl::StatusCode CodeFor(std::string_view sqlstate) {
  const std::string_view kind = sqlstate.substr(0, 2);
  const bool out_of_slots = sqlstate == "53400";  // nothing that time heals
  if (sqlstate.empty() || kind == "08" || (kind == "53" && !out_of_slots) || kind == "57" ||
      sqlstate == "55006" || sqlstate == "55P03" || kind == "25") {
    return absl::StatusCode::kUnavailable;
  }
  if (kind == "28") return absl::StatusCode::kUnauthenticated;
  if (sqlstate == "42501") return absl::StatusCode::kPermissionDenied;
  if (out_of_slots || sqlstate == "42710" || sqlstate == "55000" || sqlstate == "42704" ||
      sqlstate == "3D000" || kind == "0A" || sqlstate == "42602" || sqlstate == "42P01") {
    return absl::StatusCode::kFailedPrecondition;
  }
  return absl::StatusCode::kInternal;
}

// The first line, without the newline: the rest is LOCATION and CONTEXT.
std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// libpq doesn't give the SQLSTATE of a refused connection, but prints it between severity and text
// when verbose: "FATAL:  57P03: the database system is shutting down". Cut out of `message`.
std::string TakeSqlState(std::string& message) {
  constexpr std::string_view kBefore = ":  ";
  for (std::size_t at = message.find(kBefore); at != std::string::npos;
       at = message.find(kBefore, at + 1)) {
    const std::size_t start = at + kBefore.size();
    if (message.size() < start + 7 || message.compare(start + 5, 2, ": ") != 0) continue;
    const std::string code = message.substr(start, 5);
    bool valid = true;
    for (const char c : code) {
      const auto byte = static_cast<unsigned char>(c);
      valid = valid && (std::isdigit(byte) != 0 || std::isupper(byte) != 0);
    }
    if (!valid) continue;
    message.erase(start, 7);
    return code;
  }
  return "";
}

absl::Status ErrorOf(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string message = primary != nullptr ? primary : FirstLine(PQresultErrorMessage(result));
  if (const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL)) {
    absl::StrAppend(&message, " (", FirstLine(detail), ")");
  }
  return PgError(state != nullptr ? state : "", message);
}

constexpr std::array<std::string_view, 6> kSslModes = {"disable", "allow",     "prefer",
                                                       "require", "verify-ca", "verify-full"};
constexpr std::array<std::string_view, 6> kSessionAttributes = {
    "any", "read-write", "read-only", "primary", "standby", "prefer-standby"};

template <std::size_t kCount>
absl::Status CheckChoice(std::string_view name, std::string_view value,
                         const std::array<std::string_view, kCount>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return absl::OkStatus();
  std::string list;
  for (const std::string_view choice : choices) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", ToAbsl(choice));
  }
  return Error(absl::StatusCode::kInvalidArgument,
               absl::StrCat("a connection string with the ", ToAbsl(name), " '", ToAbsl(value),
                            "'; write one of ", list));
}

absl::Status CheckOption(std::string_view name, std::string_view value) {
  if (name == "sslmode") return CheckChoice(name, value, kSslModes);
  if (name == "target_session_attrs") return CheckChoice(name, value, kSessionAttributes);
  if (name != "port") return absl::OkStatus();
  for (const absl::string_view port : absl::StrSplit(ToAbsl(value), ',')) {
    std::uint32_t number = 0;
    if (port.empty() || (absl::SimpleAtoi(port, &number) && number > 0 && number <= 65535))
      continue;
    // Not repeated: what follows a ':' may be half a password whose '/' isn't written as %2F.
    return Error(
        absl::StatusCode::kInvalidArgument,
        "a connection string with a port that is no number from 1 to 65535; in a URI, write a "
        "'/' or '@' of a password as %2F or %40");
  }
  return absl::OkStatus();
}

// libpq refuses what it is given before it looks any name up.
bool IsLocalMistake(std::string_view message) {
  return message.starts_with("invalid ") || message.starts_with("definition of service") ||
         message.find("service file") != std::string_view::npos;
}

absl::Status WaitFor(PgSession& session, MonotonicTime deadline, std::string_view what) {
  const absl::Duration left = deadline - MonotonicNow();
  if (left <= absl::ZeroDuration()) {
    return Error(absl::StatusCode::kUnavailable, absl::StrCat("timed out ", ToAbsl(what)));
  }
  pollfd ready = session.poll();
  ::poll(&ready, 1,
         static_cast<int>(std::min<std::int64_t>(1000, absl::ToInt64Milliseconds(left) + 1)));
  return session.Step();
}

}  // namespace

std::string SqlStateOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlStateUrl);
  return payload ? std::string(*payload) : std::string();
}

absl::Status PgError(std::string_view sqlstate, std::string_view message) {
  return PgError(CodeFor(sqlstate), sqlstate, message);
}

absl::Status PgError(absl::StatusCode code, std::string_view sqlstate, std::string_view message) {
  absl::Status status = Error(code, message);
  if (!sqlstate.empty()) status.SetPayload(kSqlStateUrl, absl::Cord(ToAbsl(sqlstate)));
  return status;
}

std::optional<std::string_view> PgRows::Get(int row, const char* column) const {
  const int number = PQfnumber(result_.get(), column);
  if (number < 0 || row < 0 || row >= size() || PQgetisnull(result_.get(), row, number) != 0) {
    return std::nullopt;
  }
  return std::string_view(PQgetvalue(result_.get(), row, number),
                          static_cast<std::size_t>(PQgetlength(result_.get(), row, number)));
}

std::string PgRows::Text(int row, const char* column) const {
  return std::string(Get(row, column).value_or(""));
}

std::string PqLibraryVersion() {
  return absl::StrCat(PQlibVersion() / 10000, ".", PQlibVersion() % 10000);
}

absl::Status CheckDsn(std::string_view dsn) {
  char* message = nullptr;
  PQconninfoOption* options = PQconninfoParse(std::string(dsn).c_str(), &message);
  const std::unique_ptr<char, void (*)(void*)> owned(message, &PQfreemem);
  if (options != nullptr) {
    absl::Status status;
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
      if (status.ok() && option->val != nullptr) status = CheckOption(option->keyword, option->val);
    }
    PQconninfoFree(options);
    return status;
  }
  // libpq's text may repeat part of the string, a password included.
  return Error(absl::StatusCode::kInvalidArgument,
               "not a connection string or URI that libpq understands");
}

absl::StatusOr<std::unique_ptr<PgSession>> PgSession::Start(const PgOptions& options) {
  // A plain word is a database name to libpq, as on psql's command line.
  const bool is_conninfo = options.dsn.find_first_of("=/:") != std::string::npos;
  if (is_conninfo) RETURN_IF_ERROR(CheckDsn(options.dsn));
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    names.push_back(name);
    values.push_back(value.c_str());
  };
  const std::string encoding = "UTF8";
  const std::string replication = options.replication ? "database" : "";
  const std::string idle = absl::StrCat(limits::kKeepaliveIdleSeconds);
  const std::string interval = absl::StrCat(limits::kKeepaliveIntervalSeconds);
  const std::string count = absl::StrCat(limits::kKeepaliveCount);
  const std::string user_timeout = absl::StrCat(limits::kUserTimeoutMilliseconds);
  add("keepalives_idle", idle);
  add("keepalives_interval", interval);
  add("keepalives_count", count);
  add("tcp_user_timeout", user_timeout);
  add("dbname", options.dsn);  // expanded by libpq: over the above, and below what follows
  if (options.address) {
    add("host", options.address->host);
    add("hostaddr", options.address->hostaddr);
    add("port", options.address->port);
  }
  add("replication", replication);
  add("client_encoding", encoding);
  add("fallback_application_name", options.application_name);
  names.push_back(nullptr);
  values.push_back(nullptr);

  std::unique_ptr<PgSession> session(new PgSession);
  session->connection_.reset(PQconnectStartParams(names.data(), values.data(), 1));
  if (session->connection_ == nullptr)
    return absl::ResourceExhaustedError("out of memory in libpq");
  PGconn* connection = session->connection_.get();
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);  // for TakeSqlState
  PQsetNoticeReceiver(connection, &PgSession::OnNotice, session.get());
  if (PQstatus(connection) == CONNECTION_BAD) {
    const absl::Status status = session->Fail();
    if (!IsLocalMistake(MessageOf(status))) return status;
    return WithExitCode(
        WithHint(Error(absl::StatusCode::kInvalidArgument, MessageOf(status)),
                 "correct source.dsn, the PG* variable or the service file that says so"),
        ExitCode::kConfiguration);
  }
  return session;
}

void PgSession::OnNotice(void* self, const PGresult* notice) {
  auto& notices = static_cast<PgSession*>(self)->notices_;
  const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  const char* function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  const auto text = [](const char* field) { return std::string(field != nullptr ? field : ""); };
  Notice heard{text(state), text(message), text(function)};
  if (std::find(notices.begin(), notices.end(), heard) != notices.end()) return;
  if (notices.size() >= kNoticesKept) notices.erase(notices.begin());
  notices.push_back(std::move(heard));
}

pollfd PgSession::poll() const {
  short events = POLLIN;
  if (state_ == State::kConnecting) {
    events = connecting_events_;
  } else if (flushing_) {
    events = POLLIN | POLLOUT;
  }
  return {state_ == State::kFailed ? -1 : PQsocket(connection_.get()), events, 0};
}

absl::Status PgSession::Fail() {
  state_ = State::kFailed;
  std::string message = PQerrorMessage(connection_.get());
  const std::string sqlstate = TakeSqlState(message);
  absl::Status status =
      PgError(sqlstate, message.empty() ? "the connection was lost" : FirstLine(message));
  if (sqlstate != "08P01" || message.find("startup parameter") == std::string::npos) return status;
  // A pooler refuses startup parameters it doesn't know, "replication" among them.
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kFailedPrecondition, MessageOf(status)),
               "logical replication doesn't pass through a pooler: let source.dsn name the server"),
      ExitCode::kConfiguration);
}

absl::Status PgSession::Step() {
  switch (state_) {
    case State::kConnecting:
      return StepConnecting();
    case State::kBusy:
      return StepResults();
    case State::kIdle: {
      const bool alive = PQconsumeInput(connection_.get()) != 0;
      PQisBusy(connection_.get());  // parses what has come, so that a farewell becomes a notice
      return alive ? absl::OkStatus() : Fail();
    }
    case State::kCopyBoth:
      return absl::OkStatus();
    case State::kFailed:
      break;
  }
  return Error(absl::StatusCode::kUnavailable, "the connection was lost");
}

absl::Status PgSession::StepConnecting() {
  switch (PQconnectPoll(connection_.get())) {
    case PGRES_POLLING_READING:
      connecting_events_ = POLLIN;
      break;
    case PGRES_POLLING_WRITING:
      connecting_events_ = POLLOUT;
      break;
    case PGRES_POLLING_OK:
      state_ = State::kIdle;
      PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
      PQsetnonblocking(connection_.get(), 1);
      break;
    case PGRES_POLLING_FAILED:
    case PGRES_POLLING_ACTIVE:
      return Fail();
  }
  return absl::OkStatus();
}

absl::Status PgSession::Send(std::string_view sql) {
  complete_ = false;
  result_.reset();
  if (PQsendQuery(connection_.get(), std::string(sql).c_str()) == 0) return Fail();
  state_ = State::kBusy;
  flushing_ = true;
  return StepResults();
}

absl::Status PgSession::StepResults() {
  if (flushing_) {
    const int left = PQflush(connection_.get());
    if (left < 0) return Fail();
    flushing_ = left == 1;
  }
  const bool alive = PQconsumeInput(connection_.get()) != 0;
  while (!complete_ && PQisBusy(connection_.get()) == 0) {
    PGresult* result = PQgetResult(connection_.get());
    if (result == nullptr) {
      complete_ = true;
      break;
    }
    const ExecStatusType kind = PQresultStatus(result);
    if (kind == PGRES_COPY_BOTH) {
      result_ = PgRows(result);
      state_ = State::kCopyBoth;
      complete_ = true;
      return absl::OkStatus();
    }
    if (kind == PGRES_TUPLES_OK || kind == PGRES_COMMAND_OK) {
      if (!result_ || result_->ok()) result_ = PgRows(result);
    } else {
      if (!result_ || result_->ok()) result_ = ErrorOf(result);  // the first error is the cause
      PQclear(result);
    }
  }
  if (PQstatus(connection_.get()) == CONNECTION_BAD || !alive) {
    const absl::Status lost = Fail();
    return result_ && !result_->ok() ? result_->status() : lost;
  }
  if (complete_) state_ = State::kIdle;
  return absl::OkStatus();
}

std::optional<absl::StatusOr<PgRows>> PgSession::TakeResult() {
  if (!complete_ || !result_) return std::nullopt;
  complete_ = false;
  return std::exchange(result_, std::nullopt);
}

PgAddress PgSession::address() const {
  const auto text = [](const char* value) { return std::string(value != nullptr ? value : ""); };
  return {text(PQhost(connection_.get())), text(PQhostaddr(connection_.get())),
          text(PQport(connection_.get()))};
}

int PgSession::backend_pid() const { return PQbackendPID(connection_.get()); }

std::string PgSession::sslmode() const {
  PQconninfoOption* options = PQconninfo(connection_.get());
  std::string mode;
  for (const PQconninfoOption* o = options; o != nullptr && o->keyword != nullptr; ++o) {
    if (std::string_view(o->keyword) == "sslmode" && o->val != nullptr) mode = o->val;
  }
  PQconninfoFree(options);
  return mode;
}

int PgSession::server_version() const { return PQserverVersion(connection_.get()); }

std::string PgSession::QuoteLiteral(std::string_view text) const {
  const std::unique_ptr<char, void (*)(void*)> quoted(
      PQescapeLiteral(connection_.get(), text.data(), text.size()), &PQfreemem);
  return quoted ? std::string(quoted.get()) : "''";
}

std::string PgSession::QuoteIdentifier(std::string_view text) const {
  const std::unique_ptr<char, void (*)(void*)> quoted(
      PQescapeIdentifier(connection_.get(), text.data(), text.size()), &PQfreemem);
  return quoted ? std::string(quoted.get()) : "\"\"";
}

absl::StatusOr<std::unique_ptr<PgSession>> Connect(const PgOptions& options,
                                                   absl::Duration timeout) {
  const MonotonicTime deadline = MonotonicNow() + timeout;
  ASSIGN_OR_RETURN(std::unique_ptr<PgSession> session, PgSession::Start(options));
  while (!session->idle()) RETURN_IF_ERROR(WaitFor(*session, deadline, "connecting to Postgres"));
  return session;
}

absl::StatusOr<PgRows> RunQuery(PgSession& session, std::string_view sql, absl::Duration timeout) {
  const MonotonicTime deadline = MonotonicNow() + timeout;
  RETURN_IF_ERROR(session.Send(sql));
  while (true) {
    if (auto result = session.TakeResult()) return *std::move(result);
    RETURN_IF_ERROR(WaitFor(session, deadline, "waiting for Postgres to answer"));
  }
}

}  // namespace walpost
