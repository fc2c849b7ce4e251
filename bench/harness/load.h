// The load: transactions that insert outbox events at intended times, whatever the database or the
// relay does meanwhile (open loop). An event's lag counts from the moment at which its transaction
// was to begin, so a stall is charged to each event that waited for it: no coordinated omission.
//
// Events are numbered: event n has the id of EventId(n) and "seq": n in its payload. A transaction
// holds consecutive numbers, and all events of a key come from one writer, so the order that a
// consumer must see for a key is the order of numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace walpost::bench {

struct LoadShape {
  double events_per_second = 1000;
  int payload_bytes = 400;  // of the filling; an event has about 100 bytes more
  int rows_per_transaction = 1;
  int aggregates = 1000;  // per writer
  int writers = 2;
  absl::Duration warm_up = absl::Seconds(5);
  absl::Duration duration = absl::Seconds(15);
};

// A number for the key of event `number`: equal for equal keys.
std::int64_t KeyOf(const LoadShape& shape, std::int64_t number);

// What happened to one event at the database. Times are CLOCK_MONOTONIC in nanoseconds.
struct EventTimes {
  std::int64_t intended = 0;
  std::int64_t committed = 0;  // COMMIT returned; 0: it did not, so the event may or may not exist
};

std::string EventId(std::int64_t number);
// The number in an id, or in a message's value that holds "seq": n. None if it is not of ours.
std::optional<std::int64_t> NumberOfId(std::string_view id);
std::optional<std::int64_t> NumberInValue(std::string_view value);

// The key of an event is its number by this function: eight in a row share one, so that a relay which
// shuffles neighbours is found out, and then a thousand numbers pass before it comes again.
inline std::int64_t KeyNumber(std::int64_t number, int aggregates) {
  return number / 8 % aggregates;
}

// SQL that inserts the events from `first` to `last` (expressions) for a key prefix (a literal) as
// one statement. Keys by KeyNumber().
std::string InsertEvents(const std::string& first, const std::string& last,
                         const std::string& prefix, int aggregates, int payload_bytes);

// Thread: one, which is not one of the writers it starts.
class Load {
 public:
  Load(std::string dsn, const LoadShape& shape);
  ~Load();

  // The first transaction is due now.
  void Start();
  // Waits for the last one. Errors: of the first writer that failed.
  absl::Status Join();

  MonotonicTime started() const { return started_; }
  // The first event that counts: those before it are warm-up.
  std::int64_t first_measured() const { return first_measured_; }
  std::int64_t count() const { return static_cast<std::int64_t>(events_.size()); }
  // Complete once Join() has returned.
  const std::vector<EventTimes>& events() const { return events_; }

 private:
  void Write(int writer);
  absl::Status WriteAll(int writer);

  const std::string dsn_;
  const LoadShape shape_;
  const std::int64_t transactions_;
  const std::int64_t first_measured_;
  std::vector<EventTimes> events_;  // a writer touches those of its own transactions only
  MonotonicTime started_;
  std::vector<std::thread> writers_;
  std::vector<absl::Status> outcomes_;
};

}  // namespace walpost::bench
