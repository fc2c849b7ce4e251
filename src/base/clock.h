// Time as the loop sees it. Timers run on the monotonic clock, so that a wall clock that jumps
// neither fires nor stalls them; the wall clock is for what is shown and sent.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace walpost {

// An instant of CLOCK_MONOTONIC, in nanoseconds since an arbitrary start.
class MonotonicTime {
 public:
  constexpr MonotonicTime() = default;
  constexpr explicit MonotonicTime(std::int64_t nanoseconds) : nanoseconds_(nanoseconds) {}
  static constexpr MonotonicTime Never() {
    return MonotonicTime(std::numeric_limits<std::int64_t>::max());
  }

  constexpr auto operator<=>(const MonotonicTime&) const = default;
  constexpr std::int64_t nanoseconds() const { return nanoseconds_; }

  // Never() stays Never(), and no sum passes it.
  MonotonicTime operator+(absl::Duration d) const;
  absl::Duration operator-(MonotonicTime other) const {
    return absl::Nanoseconds(nanoseconds_) - absl::Nanoseconds(other.nanoseconds_);
  }

 private:
  std::int64_t nanoseconds_ = 0;
};

// Thread: any.
MonotonicTime MonotonicNow();

}  // namespace walpost
