// The independent consumer: reads one topic from its beginning by assignment, without a group, and
// notes when each event was first seen. It shares nothing with any target but the broker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "harness/correctness.h"

struct rd_kafka_s;
struct rd_kafka_message_s;

namespace walpost::bench {

// Thread: one, beside its own that reads.
class Observer {
 public:
  // For events numbered 0 to `events` - 1. Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<Observer>> Start(const std::string& bootstrap,
                                                         const std::string& topic, int partitions,
                                                         std::int64_t events);
  ~Observer();

  // Different events seen so far.
  std::int64_t delivered() const { return delivered_.load(std::memory_order_relaxed); }
  // When the last record arrived, CLOCK_MONOTONIC in ns.
  std::int64_t last_arrival() const { return last_arrival_.load(std::memory_order_relaxed); }

  // Waits until `count` different events are there, or nothing came for `rest`, or, while it still
  // comes, `limit` is over. True unless the latter: what is missing then won't come.
  bool WaitFor(std::int64_t count, absl::Duration rest, absl::Duration limit) const;

  void Stop();
  // After Stop().
  const Deliveries& deliveries() const { return deliveries_; }

 private:
  Observer() = default;
  void Read();
  void Note(rd_kafka_message_s* message, std::int64_t now);

  rd_kafka_s* consumer_ = nullptr;
  Deliveries deliveries_;
  std::atomic<std::int64_t> delivered_ = 0;
  std::atomic<std::int64_t> last_arrival_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread reader_;
};

// The sum of a topic's end offsets now: the neutral counter of drains.
class OffsetCounter {
 public:
  static absl::StatusOr<std::unique_ptr<OffsetCounter>> Start(const std::string& bootstrap,
                                                              const std::string& topic,
                                                              int partitions);
  ~OffsetCounter();
  // The last sum where the broker doesn't answer.
  std::int64_t Count();

 private:
  OffsetCounter() = default;
  rd_kafka_s* client_ = nullptr;
  std::string topic_;
  int partitions_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace walpost::bench
