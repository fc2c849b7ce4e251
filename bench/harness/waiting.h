// Waiting for a condition, with a deadline. A benchmark may sleep: it has no loop to block.
#pragma once

#include <chrono>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"

namespace walpost::bench {

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
