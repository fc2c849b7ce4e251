// What is outstanding at the sink: bounded in messages and in bytes, counted from the oldest
// message that is not acknowledged, so that everything kept per message is bounded too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/clock.h"
#include "base/lsn.h"
#include "capture/batch.h"

namespace walpost::watermark {

// One message between Submit and the moment all before it are acknowledged.
struct Flight {
  capture::Transaction transaction;
  std::uint32_t index = 0;  // among the outbox events of its transaction
  std::uint32_t topic = 0;  // whatever number the relay gave it
  std::size_t bytes = 0;
  MonotonicTime submitted;

  // What orders the events of a timeline.
  std::pair<Lsn, std::uint32_t> place() const { return {transaction.commit_lsn, index}; }
};

// Pure. Thread: loop only. One per session.
class Window {
 public:
  Window(std::size_t most_messages, std::size_t most_bytes)
      : most_messages_(most_messages), most_bytes_(most_bytes) {}

  // An oversize message travels alone: it has room when nothing is outstanding.
  bool HasRoom(std::size_t bytes) const {
    return flights_.empty() || (flights_.size() < most_messages_ && bytes_ + bytes <= most_bytes_);
  }

  // Tickets are consecutive: the first is 0, then one more for each Push.
  void Push(const Flight& flight) {
    bytes_ += flight.bytes;
    flights_.push_back(flight);
  }

  // Requires: pushed, and not popped.
  const Flight& at(Ticket ticket) const { return flights_[ticket.value - first_]; }

  // All below `first_unacknowledged` have landed.
  void PopBefore(Ticket first_unacknowledged) {
    while (!flights_.empty() && first_ < first_unacknowledged.value) {
      bytes_ -= flights_.front().bytes;
      flights_.pop_front();
      ++first_;
    }
  }

  bool empty() const { return flights_.empty(); }
  std::size_t messages() const { return flights_.size(); }
  std::size_t bytes() const { return bytes_; }
  const Flight& oldest() const { return flights_.front(); }  // Requires: !empty()

 private:
  std::size_t most_messages_;
  std::size_t most_bytes_;
  std::deque<Flight> flights_;
  std::uint64_t first_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace walpost::watermark
