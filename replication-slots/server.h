// One session with a server, for commands that may block: every statement has a bound, and nothing
// is written but by a command whose name says so.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/conninfo.h"
#include "base/lsn.h"
#include "base/pq.h"

namespace walpost::slots {

// An LSN of a command line. Errors: kInvalidArgument with the exit code of a usage error.
absl::StatusOr<Lsn> ParsePosition(std::string_view text, std::string_view option);

// Waits, for a command that samples or repeats.
void Pause(absl::Duration time);

// Thread: the one that made it.
class Server {
 public:
  // Errors: kInvalidArgument (the connection string), kUnavailable, kUnauthenticated,
  // kFailedPrecondition (a server older than 14).
  static absl::StatusOr<Server> Open(const ConnectionFlags& connection);

  // Parameters replace @name, each quoted as a literal. Errors: the server's own.
  absl::StatusOr<PgRows> Rows(
      std::string_view sql,
      std::initializer_list<std::pair<std::string_view, std::string_view>> parameters = {}) const;

  // A session of the replication protocol with the same server, whatever else dsn() names.
  absl::StatusOr<std::unique_ptr<PgSession>> OpenReplication() const;

  // The bound of the statements from here on; a minute at first.
  absl::Status SetTimeout(absl::Duration timeout);

  // The facts of queries/server.sql, read again.
  absl::Status Refresh();

  const std::string& dsn() const { return dsn_; }
  PgSession& session() const { return *session_; }
  int version() const { return session_->server_version(); }  // 150020 for 15.20
  int major() const { return version() / 10000; }

  const std::string& database() const { return database_; }
  const std::string& role() const { return role_; }
  bool in_recovery() const { return in_recovery_; }
  bool sees_activity() const { return sees_activity_; }
  bool may_replicate() const { return may_replicate_; }
  Lsn wal_end() const { return wal_end_; }

  // kFailedPrecondition unless this is a primary; `command` can't run on a standby.
  absl::Status RequirePrimary(std::string_view command) const;
  // kFailedPrecondition on a server older than `major`, with what needs it.
  absl::Status RequireVersion(int major, std::string_view what) const;

 private:
  Server() = default;

  std::string dsn_;
  absl::Duration timeout_ = absl::Minutes(1);
  std::unique_ptr<PgSession> session_;
  std::string database_;
  std::string role_;
  bool in_recovery_ = false;
  bool sees_activity_ = false;
  bool may_replicate_ = false;
  Lsn wal_end_;
};

// "walpost slots: ROLE@DATABASE drop relay: confirmed_flush_lsn 0/1 -> gone" on standard error: the
// one line that every change leaves.
void Audit(const Server& server, std::string_view what);

// Says on standard error what this role may not see, and which grant is missing.
void TellMissingRights(const Server& server);

}  // namespace walpost::slots
