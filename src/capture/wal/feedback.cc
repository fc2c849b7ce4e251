#include "capture/wal/feedback.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"

namespace walpost::capture {

Feedback::Feedback(FeedbackOptions options, MonotonicTime now)
    : interval_(limits::kStatusInterval),
      patience_(limits::kPeerDead),
      received_(options.confirmed_flush),
      announced_(options.confirmed_flush),
      confirmed_(options.confirmed_flush),
      said_(options.confirmed_flush),
      sent_(now),
      heard_(now) {
  if (options.wal_sender_timeout > absl::ZeroDuration()) {
    interval_ = std::min(interval_, options.wal_sender_timeout / 3);
    patience_ = std::max(patience_, options.wal_sender_timeout + limits::kPeerMargin);
  } else {
    patience_ = limits::kPeerNeverAsks;
  }
}

void Feedback::Announced(Lsn position) {
  Received(position);
  announced_ = std::max(announced_, position);
}

void Feedback::Confirm(Lsn position) {
  WALPOST_CHECK(position <= announced_);
  confirmed_ = std::max(confirmed_, position);
}

MonotonicTime Feedback::due() const {
  if (confirmed_ > said_) return sent_ + limits::kStatusSpacing;
  if (requested_) return sent_ + std::min(limits::kReplySpacing, interval_);
  return sent_ + interval_;
}

StatusUpdate Feedback::Take(MonotonicTime now) {
  const bool quiet = now - heard_ >= limits::kPeerQuiet;
  requested_ = false;
  sent_ = now;
  said_ = confirmed_;
  return {.write = received_, .flush = confirmed_, .reply_requested = quiet};
}

bool Feedback::dead(MonotonicTime now) const { return now - heard_ >= patience_; }

}  // namespace walpost::capture
