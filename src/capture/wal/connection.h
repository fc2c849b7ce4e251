// The replication connection: from connecting to the end of COPY BOTH. With base/pq the only place
// that calls libpq.
//
// The session's settings are pinned first (roles and databases can set others); then the server is
// asked who it is; then START_REPLICATION at 0/0, the slot's own position.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/pq.h"
#include "capture/batch.h"
#include "capture/wal/transaction_assembler.h"

namespace walpost::capture {

struct ConnectionOptions {
  PgOptions pg;  // replication is set by the connection
  std::string slot;
  std::string copy_of;  // another slot that `slot` is to be a temporary copy of; "": it exists
  std::string publication;
  bool messages = false;  // logical messages are wanted too
};

// Thread: loop only.
class Connection {
 public:
  static absl::StatusOr<std::unique_ptr<Connection>> Start(ConnectionOptions options);

  // Moves the handshake on, until streaming(). Errors: as base/pq; a slot held by another process
  // is kUnavailable with SQLSTATE 55006.
  absl::Status Step();
  bool streaming() const { return phase_ == Phase::kStreaming; }

  // Valid once streaming().
  const Identity& identity() const { return identity_; }
  Lsn xlogpos() const {
    return xlogpos_;
  }  // the server's flush position when asked; no resume point
  absl::Duration wal_sender_timeout() const { return wal_sender_timeout_; }

  // The next whole frame, or nothing yet. Reads until the socket is empty, once after each
  // Readable(). Errors: kUnavailable (connection lost, walsender ended), or the server's error by
  // SQLSTATE.
  absl::StatusOr<std::optional<OwnedFrame>> Next();
  // The descriptor may have input: Next() will look again.
  void Readable() { maybe_input_ = true; }

  // Sends one status update; what the socket doesn't take at once follows by Flush().
  absl::Status Send(const std::string& status_update);
  absl::Status Flush();
  bool flush_pending() const { return flush_pending_; }

  // With `reading` false: only for what must be written, or an fd of -1.
  pollfd poll(bool reading) const;

  // What the server said unasked.
  std::vector<PgSession::Notice> TakeNotices() { return session_->TakeNotices(); }

 private:
  enum class Phase {
    kConnecting,
    kPinning,
    kTimeout,
    kIdentifying,
    kCopying,
    kStarting,
    kStreaming
  };

  explicit Connection(ConnectionOptions options) : options_(std::move(options)) {}
  absl::Status Advance(const PgRows& rows);
  std::string StartCommand() const;
  absl::Status EndOfCopy();

  const ConnectionOptions options_;
  std::unique_ptr<PgSession> session_;
  Phase phase_ = Phase::kConnecting;
  Identity identity_;
  Lsn xlogpos_;
  absl::Duration wal_sender_timeout_;
  bool maybe_input_ = true;
  bool flush_pending_ = false;
};

}  // namespace walpost::capture
