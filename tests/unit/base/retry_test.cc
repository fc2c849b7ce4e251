#include "base/retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

constexpr BackoffOptions kOptions = {absl::Milliseconds(100), absl::Seconds(1)};

TEST(BackoffTest, WaitsBetweenHalfOfTheBoundAndTheBoundWhichDoubles) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Backoff backoff(kOptions, seed);
    for (const int bound : {100, 200, 400, 800, 1000, 1000, 1000}) {
      const absl::Duration wait = backoff.Next();
      EXPECT_GE(wait, absl::Milliseconds(bound) / 2);
      EXPECT_LE(wait, absl::Milliseconds(bound));
    }
  }
}

TEST(BackoffTest, StartsAnewAfterSuccess) {
  Backoff backoff(kOptions, 1);
  for (int i = 0; i < 10; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Milliseconds(100));
}

TEST(BackoffTest, NeverWaitsShorterThanAskedFor) {
  Backoff backoff(kOptions, 1);
  EXPECT_EQ(backoff.Next(absl::Seconds(5)), absl::Seconds(5));
}

TEST(BackoffTest, RepeatsItselfFromTheSameSeedOnly) {
  const auto waits = [](std::uint64_t seed) {
    Backoff backoff(kOptions, seed);
    std::vector<absl::Duration> all;
    for (int i = 0; i < 8; ++i) all.push_back(backoff.Next());
    return all;
  };
  EXPECT_EQ(waits(7), waits(7));
  EXPECT_NE(waits(7), waits(8));
}

TEST(BackoffTest, DoesNotOverflowAfterAVeryLongOutage) {
  Backoff backoff(kOptions, 1);
  for (int i = 0; i < 100'000; ++i) ASSERT_LE(backoff.Next(), absl::Seconds(1));
}

TEST(BackoffTest, AFirstBoundAboveTheMostIsCut) {
  Backoff backoff({absl::Seconds(10), absl::Seconds(1)}, 1);
  EXPECT_LE(backoff.Next(), absl::Seconds(1));
}

}  // namespace
}  // namespace walpost
