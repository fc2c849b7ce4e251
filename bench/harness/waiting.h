// Waiting for a condition, with a deadline; and being asked to stop. A benchmark may sleep: it has no loop to block.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"

namespace walpost::bench {

// Set by SIGINT and SIGTERM: no target is begun any more, and what runs is taken down in order.
inline std::atomic<bool>& Interrupted() {
  static std::atomic<bool> interrupted = false;
  return interrupted;
}

inline void SleepUntil(MonotonicTime when) {
  std::this_thread::sleep_until(
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(when.nanoseconds())));
}

// Asks every `interval` until `condition` holds. False if `limit` passes before.
template <typename Condition>
bool WaitUntil(absl::Duration limit, Condition condition,
               absl::Duration interval = absl::Milliseconds(10)) {
  const MonotonicTime end = MonotonicNow() + limit;
  while (!condition()) {
    if (MonotonicNow() >= end) return false;
    SleepUntil(MonotonicNow() + interval);
  }
  return true;
}

}  // namespace walpost::bench
