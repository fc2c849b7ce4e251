#include "base/clock.h"

#include <ctime>

namespace walpost {

MonotonicTime MonotonicTime::operator+(absl::Duration d) const {
  if (*this == Never()) return *this;
  const std::int64_t step = absl::ToInt64Nanoseconds(d);  // saturates
  std::int64_t sum = 0;
  if (__builtin_add_overflow(nanoseconds_, step, &sum)) {
    return step > 0 ? Never() : MonotonicTime(std::numeric_limits<std::int64_t>::min());
  }
  return MonotonicTime(sum);
}

MonotonicTime MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return MonotonicTime(static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
}

}  // namespace walpost
