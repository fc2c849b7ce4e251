// What to tell the server, and when: a pure decision, stepped with the time.
//
//   write  newest position received (stops the keepalive ping-pong)
//   flush  the confirmed position: the only field that moves the slot, never checked by the server
//   apply  = flush
//
// A status goes out by timer, soon after flush moved, and when the server asks; while flush stands
// still requests are answered at most once in limits::kReplySpacing, since a stopping server asks
// without end.
#pragma once

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/lsn.h"
#include "capture/wal/frame.h"

namespace walpost::capture {

struct FeedbackOptions {
  Lsn confirmed_flush;  // of the slot as the session starts: flush never falls below it
  absl::Duration
      wal_sender_timeout;  // of the server; zero: it never asks, the timer runs all the same
};

// Thread: loop only. One per connection.
class Feedback {
 public:
  Feedback(FeedbackOptions options, MonotonicTime now);

  // A message came that carries `position` (0/0 where it has none).
  void Received(Lsn position) { received_ = received_ < position ? position : received_; }
  // The server announced that all before `position` has been sent (walEnd, end_lsn).
  void Announced(Lsn position);
  void Requested() { requested_ = true; }
  // Any byte came from the server.
  void Heard(MonotonicTime now) { heard_ = now; }

  // Moves flush to `position`. CHECKs that this server announced it: a flush beyond makes the
  // server skip what lies between, silently. A lower one than before is ignored.
  void Confirm(Lsn position);

  // When the next status is due; Take() then says what to send and takes it as sent.
  MonotonicTime due() const;
  StatusUpdate Take(MonotonicTime now);

  // The server has said nothing for too long although it was asked. Only meaningful while it is
  // read.
  bool dead(MonotonicTime now) const;

  Lsn received() const { return received_; }
  Lsn announced() const { return announced_; }
  Lsn said() const { return said_; }  // the last flush sent

 private:
  absl::Duration interval_;
  absl::Duration patience_;
  Lsn received_;
  Lsn announced_;
  Lsn confirmed_;
  Lsn said_;
  bool requested_ = false;
  MonotonicTime sent_;
  MonotonicTime heard_;
};

}  // namespace walpost::capture
