#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace walpost {
namespace {

TEST(MonotonicTimeTest, AddsAndSubtractsDurations) {
  const MonotonicTime start(1'000);
  EXPECT_EQ((start + absl::Microseconds(2)).nanoseconds(), 3'000);
  EXPECT_EQ((start + absl::Microseconds(2)) - start, absl::Microseconds(2));
  EXPECT_EQ(start - (start + absl::Seconds(1)), -absl::Seconds(1));
  EXPECT_LT(start, start + absl::Nanoseconds(1));
}

TEST(MonotonicTimeTest, NeverStaysNeverAndNothingPassesIt) {
  EXPECT_EQ(MonotonicTime::Never() + absl::Seconds(1), MonotonicTime::Never());
  EXPECT_EQ(MonotonicTime::Never() + -absl::Seconds(1), MonotonicTime::Never());
  EXPECT_EQ(MonotonicTime(5) + absl::InfiniteDuration(), MonotonicTime::Never());
  EXPECT_EQ(MonotonicTime(std::numeric_limits<std::int64_t>::max() - 1) + absl::Seconds(1),
            MonotonicTime::Never());
}

TEST(MonotonicTimeTest, ASumBelowTheSmallestInstantStaysThere) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ((MonotonicTime(least + 1) + -absl::Seconds(1)).nanoseconds(), least);
}

TEST(MonotonicTimeTest, TheDistanceToNeverIsFarAway) {
  EXPECT_GT(MonotonicTime::Never() - MonotonicNow(), absl::Hours(24) * 365 * 100);
}

TEST(MonotonicNowTest, DoesNotRunBackwards) {
  MonotonicTime last = MonotonicNow();
  for (int i = 0; i < 1000; ++i) {
    const MonotonicTime now = MonotonicNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace walpost
