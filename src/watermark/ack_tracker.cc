#include "watermark/ack_tracker.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace walpost::watermark {

Ticket AckTracker::Open(std::uint32_t count, std::optional<Position> release) {
  const Ticket first = next();
  acknowledged_.resize(acknowledged_.size() + count, false);
  if (release && (!newest_release_ || *release > *newest_release_)) {
    newest_release_ = release;
    const std::uint64_t end = next().value;
    if (!releases_.empty() && releases_.back().end == end) {
      releases_.back().position = *release;
    } else {
      releases_.push_back({end, *release});
    }
  }
  Advance();
  return first;
}

absl::Status AckTracker::Ack(Ticket ticket) {
  if (ticket < first_unacknowledged() || ticket >= next() || acknowledged_[ticket.value - base_]) {
    return Error(absl::StatusCode::kInternal,
                 absl::StrCat("ticket ", ticket.value, " was acknowledged but is not outstanding"));
  }
  acknowledged_[ticket.value - base_] = true;
  if (ticket.value == base_) Advance();
  return absl::OkStatus();
}

void AckTracker::Advance() {
  while (!acknowledged_.empty() && acknowledged_.front()) {
    acknowledged_.pop_front();
    ++base_;
  }
  while (!releases_.empty() && releases_.front().end <= base_) {
    watermark_ = releases_.front().position;
    releases_.pop_front();
  }
}

}  // namespace walpost::watermark
