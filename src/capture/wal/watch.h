// The ordinary connection beside the stream: it looks at slot and publication, and it tells when
// the server shuts down.
//
// Why it must stay open: a relay that pauses reading can't see the walsender's keepalives, and a
// stopping server waits for a walsender whose events are not confirmed. An ordinary session ends
// with 57P01 within milliseconds of a fast shutdown. A smart shutdown waits for it and only refuses
// new ones (57P03), so it is reopened at each check, the new one before the old one closes.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/pq.h"
#include "capture/wal/catalog.h"

namespace walpost::capture {

struct WatchOptions {
  PgOptions pg;  // replication off
  CatalogQuestion question;
};

// Thread: loop only.
class Watch {
 public:
  explicit Watch(WatchOptions options) : options_(std::move(options)) {}

  // Begins the first session. Errors: as PgSession::Start.
  absl::Status Start(MonotonicTime now);

  // Serves both sessions, begins what is due. An error only before the first facts: after that a
  // session that can't be had is tried again, and lost() tells.
  absl::Status Tick(MonotonicTime now);

  // The outcome of the newest check, once per check.
  std::optional<CatalogFacts> TakeFacts() { return std::exchange(facts_, std::nullopt); }

  // Looks again on the open session after `wait` (a standby's rhythm), or reopens at the next check
  // (the rhythm of a stream).
  void LookAgain(MonotonicTime at) { look_again_ = at; }
  void ReopenAt(MonotonicTime at) { reopen_ = at; }

  // The server said that it is shutting down: it ended the session (57P01) or refused one (57P03).
  bool server_is_stopping() const { return server_is_stopping_; }
  // It refused one: a smart shutdown, which waits for the session that is open.
  bool server_refuses() const { return server_refuses_; }
  // No session is open; one is being tried.
  bool lost() const { return current_ == nullptr && had_facts_; }

  // Of the session in use, so that the stream goes to the same server. Requires: facts were taken.
  const PgAddress& address() const { return address_; }

  void AppendPolls(std::vector<pollfd>& polls) const;
  MonotonicTime deadline() const;

 private:
  struct Session {
    std::unique_ptr<PgSession> pg;
    bool asked = false;
    MonotonicTime give_up;
  };

  absl::Status Open(MonotonicTime now);
  absl::Status ServeOpening(MonotonicTime now);
  absl::Status ServeCurrent(MonotonicTime now);
  absl::Status Ask(PgSession& session);
  // Into facts_, if it has come; `answered` tells.
  absl::Status TakeAnswer(PgSession& session, bool& answered);
  void CurrentEnded(const absl::Status& status, MonotonicTime now);

  const WatchOptions options_;
  std::unique_ptr<PgSession> current_;  // idle, or asking again
  std::optional<Session> opening_;      // connecting or asking for the first time
  std::optional<PgAddress> known_address_;
  PgAddress address_;
  std::optional<CatalogFacts> facts_;
  bool had_facts_ = false;
  bool server_is_stopping_ = false;
  bool server_refuses_ = false;
  bool asking_ = false;  // on current_
  MonotonicTime give_up_;
  MonotonicTime look_again_ = MonotonicTime::Never();
  MonotonicTime reopen_ = MonotonicTime::Never();
};

}  // namespace walpost::capture
