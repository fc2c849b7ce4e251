// libpq, wrapped once: a session that never blocks, and its results.
//
// Calls to libpq stand here and in capture/wal/connection, nowhere else. The loop polls poll(),
// calls Step() when it is ready (and at least once a second: decrypted bytes can hide below the
// socket), and takes results. Verbs that may block use Connect() and RunQuery().
//
// libpq resolves a host name while PQconnectStart runs, which blocks: sessions to a name are
// started only while no stream is open; later ones go to the address the first one reported.
#pragma once

#include <libpq-fe.h>
#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace walpost {

// The SQLSTATE that came with `status`, "" if none did.
std::string SqlStateOf(const absl::Status& status);

// A status for an error of the server. Codes: kUnavailable (connection lost, shutting down, slot
// active), kUnauthenticated, kPermissionDenied, kFailedPrecondition (55000, missing objects), else
// kInternal.
absl::Status PgError(std::string_view sqlstate, std::string_view message);
// Likewise, with a code of the caller's.
absl::Status PgError(absl::StatusCode code, std::string_view sqlstate, std::string_view message);

// Rows of one result. Values are valid as long as the object.
class PgRows {
 public:
  explicit PgRows(PGresult* result) : result_(result, &PQclear) {}

  int size() const { return PQntuples(result_.get()); }
  // NULL and unknown columns are nullopt.
  std::optional<std::string_view> Get(int row, const char* column) const;
  // "" for NULL.
  std::string Text(int row, const char* column) const;
  bool IsTrue(int row, const char* column) const { return Get(row, column) == "t"; }

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

// The version of the libpq in use: "15.20".
std::string PqLibraryVersion();

// Where a session is connected to, so that another one can be made to the same server.
struct PgAddress {
  std::string host;      // name, or the directory of the Unix socket
  std::string hostaddr;  // numeric, empty for Unix sockets
  std::string port;
};

struct PgOptions {
  std::string dsn;           // conninfo or URI; PG* variables, service and password files apply
  bool replication = false;  // a logical walsender instead of an ordinary backend
  std::optional<PgAddress> address;          // instead of the dsn's host and port
  std::string application_name = "walpost";  // unless the dsn or PGAPPNAME names one
};

// Checks what can be checked of `dsn` without connecting: that libpq can parse it, and its port,
// sslmode and target_session_attrs. Errors: kInvalidArgument; secrets are not repeated.
absl::Status CheckDsn(std::string_view dsn);

// Thread: the one that made it.
class PgSession {
 public:
  struct Notice {
    std::string sqlstate;
    std::string message;   // in the server's language
    std::string function;  // of the server's source that raised it: the same in every language

    bool operator==(const Notice&) const = default;
  };

  // Begins to connect. Errors: kInvalidArgument (the dsn, or a variable or service that libpq
  // reads; with the exit code of a configuration error), kUnavailable.
  static absl::StatusOr<std::unique_ptr<PgSession>> Start(const PgOptions& options);

  // What to wait for before Step() can move on.
  pollfd poll() const;

  // Moves the handshake or the running command on. After an error the session is dead.
  absl::Status Step();

  bool idle() const { return state_ == State::kIdle; }

  // Sends one simple query. Requires: idle().
  absl::Status Send(std::string_view sql);

  // The outcome of what was sent, once it is complete; afterwards the session is idle() (or in COPY
  // BOTH). An error of the statement leaves the session usable; a broken connection is also
  // reported by Step().
  std::optional<absl::StatusOr<PgRows>> TakeResult();

  bool copy_both() const { return state_ == State::kCopyBoth; }

  PgAddress address() const;
  int server_version() const;   // 150020 for 15.20
  int backend_pid() const;      // of the server's process
  std::string sslmode() const;  // as libpq resolved it
  // What the server said unasked since the last call, each text once; of more than a few the newest
  // are kept. An idle session's farewell (57P01) arrives here.
  std::vector<Notice> TakeNotices() { return std::exchange(notices_, {}); }

  std::string QuoteLiteral(std::string_view text) const;
  std::string QuoteIdentifier(std::string_view text) const;

  PGconn* handle() const { return connection_.get(); }  // for capture/wal/connection

  PgSession(const PgSession&) = delete;
  PgSession& operator=(const PgSession&) = delete;

 private:
  enum class State { kConnecting, kIdle, kBusy, kCopyBoth, kFailed };

  PgSession() = default;
  absl::Status StepConnecting();
  absl::Status StepResults();
  absl::Status Fail();
  static void OnNotice(void* self, const PGresult* notice);

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_{nullptr, &PQfinish};
  State state_ = State::kConnecting;
  short connecting_events_ = POLLOUT;
  bool flushing_ = false;
  bool complete_ = false;
  std::optional<absl::StatusOr<PgRows>> result_;
  std::vector<Notice> notices_;
};

// Blocking, for verbs. Errors: as above, kUnavailable on time-out.
absl::StatusOr<std::unique_ptr<PgSession>> Connect(const PgOptions& options,
                                                   absl::Duration timeout);
absl::StatusOr<PgRows> RunQuery(PgSession& session, std::string_view sql, absl::Duration timeout);

}  // namespace walpost
