// Where rows enter the relay. A Source hands out committed transactions in commit order, in
// batches, and is told through which position everything is safely delivered. It knows nothing of
// brokers.
//
// One Source is one session: after a failure it is destroyed and a new one starts from what the
// server itself has stored.
//
// Thread: loop only.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/lsn.h"
#include "capture/batch.h"

namespace walpost::capture {

// What this process knew of its source when its last session ended. The next one compares: where
// positions jumped, or belong to something else, events are missing.
struct LastSeen {
  Identity identity;
  Lsn confirmed;                 // the newest that was said
  bool held_by_another = false;  // since then another process held it, and may have confirmed more
};

enum class SourceState {
  kConnecting,  // no stream yet
  kStandby,     // another process holds the slot; waiting for it quietly
  kStreaming,   // batches may come
  kStopping,    // BeginStop() was called: the last confirmation is on its way
  kStopped,     // and has arrived; nothing is open any more
};

// What a source knows of its server's progress, for metrics and /status.
struct SourceProgress {
  Lsn received;                       // newest position received
  Lsn server;                         // newest end of WAL that the server announced
  Lsn confirmed;                      // last position sent as flush
  std::uint64_t bytes = 0;            // of messages received
  std::uint64_t transactions = 0;     // begun
  std::uint64_t ignored_changes = 0;  // of other tables or kinds
  std::uint64_t status_updates = 0;
  // As of the last check of the slot.
  std::uint64_t retained_bytes = 0;            // from restart_lsn to the end of WAL
  std::optional<std::int64_t> safe_wal_bytes;  // until invalidation; none: unlimited
  std::string wal_status;
};

// The other side's own failure while it produced the stream (not the line, not a shutdown): tried
// again, it may well fail again.
bool IsServerFault(const absl::Status& status);

class Source {
 public:
  virtual ~Source() = default;

  // Appends the descriptors to be polled before the next Tick(). With `paused` the stream itself is
  // not to be read: the server is slowed down by TCP, timers and the other connection go on.
  virtual void AppendPolls(std::vector<pollfd>& polls, bool paused) const = 0;

  // When Tick() must be called even if no descriptor is ready.
  virtual MonotonicTime deadline() const = 0;

  // Serves sockets and timers; never blocks. With `anything_unconfirmed` the caller says whether
  // events are outstanding: a server that shuts down is then let go at once (it would wait for
  // them).
  //
  // Errors: kUnavailable (start again after a back-off), kFailedPrecondition, kPermissionDenied,
  // kUnauthenticated, kDataLoss (stop; exit code and HINT are attached).
  virtual absl::Status Tick(MonotonicTime now, bool anything_unconfirmed) = 0;

  // Fills `batch` (cleared first) and returns true, or returns false: nothing yet. Never blocks.
  // Errors: as Tick(); kDataLoss: bytes that don't parse.
  virtual absl::StatusOr<bool> TakeBatch(MonotonicTime now, Batch& batch) = 0;

  // Everything up to and including `through` is delivered. Monotonic within a session and never
  // above what the server announced (checked: a server doesn't validate it and would skip what lies
  // between). Cheap: the next status update says it.
  virtual void Confirm(Position through) = 0;

  // Says the last confirmation and waits until the server has taken it; then state() is kStopped.
  virtual void BeginStop(MonotonicTime now) = 0;

  virtual SourceState state() const = 0;
  // Between the first and the last batch of a transaction.
  virtual bool inside_transaction() const = 0;
  // Known once streaming.
  virtual const std::optional<Identity>& identity() const = 0;
  virtual SourceProgress progress() const = 0;
  // The server is shutting down or gone: reconnecting at once would only disturb it.
  virtual bool server_is_stopping() const = 0;
};

}  // namespace walpost::capture
