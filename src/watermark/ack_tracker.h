// Which position may be confirmed: the release point of the longest fully acknowledged prefix.
//
// Acknowledgements of different partitions come in any order, so "the last one acknowledged" says
// nothing. A release point is the end_lsn of a transaction or a keepalive's walEnd; it waits behind
// every message that came before it, and never jumps over outstanding work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "absl/status/status.h"
#include "base/lsn.h"

namespace walpost::watermark {

// Pure. Its state is bounded by the tickets between the first unacknowledged and the newest: the
// caller's window. Any number of empty batches behind one outstanding message merge into one.
//
// Thread: loop only. One per session; tickets never cross sessions.
class AckTracker {
 public:
  // The next `count` messages, in order, end in `release` (only the last batch of a transaction has
  // one). A release that isn't above the last one is ignored: servers announce lower positions
  // while they catch up. Returns the first of `count` consecutive tickets.
  Ticket Open(std::uint32_t count, std::optional<Position> release);

  // Errors: kInternal (a ticket that isn't open, or was acknowledged before).
  absl::Status Ack(Ticket ticket);

  // The newest position before which everything is acknowledged. None until the first release is
  // reached.
  std::optional<Position> watermark() const { return watermark_; }

  // All tickets below are acknowledged.
  Ticket first_unacknowledged() const { return Ticket(base_); }
  Ticket next() const { return Ticket(base_ + acknowledged_.size()); }
  bool anything_unacknowledged() const { return !acknowledged_.empty(); }

  // For tests of the bound.
  std::size_t releases() const { return releases_.size(); }

 private:
  struct Release {
    std::uint64_t end;  // reached once all tickets below are acknowledged
    Position position;
  };
  void Advance();

  std::uint64_t base_ = 0;         // the first unacknowledged ticket
  std::deque<bool> acknowledged_;  // of base_, base_ + 1, …; the front is false
  std::deque<Release> releases_;   // ends strictly increasing, positions too
  std::optional<Position> newest_release_;
  std::optional<Position> watermark_;
};

}  // namespace walpost::watermark
