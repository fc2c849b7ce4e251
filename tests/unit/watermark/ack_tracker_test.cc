#include "watermark/ack_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "status_is.h"

namespace walpost::watermark {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(AckTracker, NothingIsReleasedBeforeItsMessages) {
  AckTracker tracker;
  const Ticket first = tracker.Open(2, Position(100));
  EXPECT_EQ(tracker.watermark(), std::nullopt);
  ASSERT_TRUE(tracker.Ack(Ticket(first.value + 1)).ok());
  EXPECT_EQ(tracker.watermark(), std::nullopt);
  ASSERT_TRUE(tracker.Ack(first).ok());
  EXPECT_EQ(tracker.watermark(), Position(100));
}

// The largest acknowledged position says nothing about earlier ones.
TEST(AckTracker, ALaterTransactionWaitsForAnEarlierOne) {
  AckTracker tracker;
  const Ticket slow = tracker.Open(1, Position(100));
  for (const std::uint64_t release : {200ULL, 300ULL}) {
    ASSERT_TRUE(tracker.Ack(tracker.Open(1, Position(release))).ok());
  }
  EXPECT_EQ(tracker.watermark(), std::nullopt);
  ASSERT_TRUE(tracker.Ack(slow).ok());
  EXPECT_EQ(tracker.watermark(), Position(300));
}

// A keepalive's walEnd is a release point behind everything received before it.
TEST(AckTracker, AKeepaliveWaitsItsTurn) {
  AckTracker tracker;
  const Ticket ticket = tracker.Open(1, Position(100));
  tracker.Open(0, Position(500));
  EXPECT_EQ(tracker.watermark(), std::nullopt);
  ASSERT_TRUE(tracker.Ack(ticket).ok());
  EXPECT_EQ(tracker.watermark(), Position(500));
}

TEST(AckTracker, AKeepaliveOfAnIdleStreamReleasesAtOnce) {
  AckTracker tracker;
  tracker.Open(0, Position(500));
  EXPECT_EQ(tracker.watermark(), Position(500));
}

// No position exists inside of a transaction.
TEST(AckTracker, BatchesWithoutReleaseReleaseWithTheLastOne) {
  AckTracker tracker;
  std::vector<Ticket> tickets = {tracker.Open(1, std::nullopt), tracker.Open(1, std::nullopt)};
  for (const Ticket ticket : tickets) ASSERT_TRUE(tracker.Ack(ticket).ok());
  EXPECT_EQ(tracker.watermark(), std::nullopt);
  tracker.Open(0, Position(100));
  EXPECT_EQ(tracker.watermark(), Position(100));
}

// While it catches up the server announces lower positions.
TEST(AckTracker, ALowerReleaseIsIgnored) {
  AckTracker tracker;
  tracker.Open(0, Position(500));
  tracker.Open(0, Position(400));
  EXPECT_EQ(tracker.watermark(), Position(500));
  const Ticket ticket = tracker.Open(1, Position(450));
  ASSERT_TRUE(tracker.Ack(ticket).ok());
  EXPECT_EQ(tracker.watermark(), Position(500));
}

TEST(AckTracker, UnknownAndRepeatedTicketsAreErrors) {
  AckTracker tracker;
  EXPECT_THAT(tracker.Ack(Ticket(0)), StatusIs(absl::StatusCode::kInternal, HasSubstr("ticket 0")));
  tracker.Open(2, Position(100));
  ASSERT_TRUE(tracker.Ack(Ticket(1)).ok());
  EXPECT_THAT(tracker.Ack(Ticket(1)), StatusIs(absl::StatusCode::kInternal, HasSubstr("ticket 1")));
  EXPECT_THAT(tracker.Ack(Ticket(2)), StatusIs(absl::StatusCode::kInternal, HasSubstr("ticket 2")));
  ASSERT_TRUE(tracker.Ack(Ticket(0)).ok());
  EXPECT_THAT(tracker.Ack(Ticket(0)), StatusIs(absl::StatusCode::kInternal, HasSubstr("ticket 0")));
}

TEST(AckTracker, KeepalivesBehindOneStuckMessageDoNotPileUp) {
  AckTracker tracker;
  const Ticket stuck = tracker.Open(1, Position(1));
  for (std::uint64_t i = 2; i < 100'000; ++i) tracker.Open(0, Position(i));
  EXPECT_LE(tracker.releases(), 2U);
  ASSERT_TRUE(tracker.Ack(stuck).ok());
  EXPECT_EQ(tracker.watermark(), Position(99'999));
  EXPECT_EQ(tracker.releases(), 0U);
}

// Every way to cut up to six messages into batches, with and without releases and keepalives, in
// every order of acknowledgement, against the definition: the release of the longest acknowledged
// prefix.
struct Step {
  std::uint32_t count;
  bool releases;
};

std::optional<Position> Defined(const std::vector<Step>& steps,
                                const std::vector<bool>& acknowledged) {
  std::size_t prefix = 0;
  while (prefix < acknowledged.size() && acknowledged[prefix]) ++prefix;
  std::optional<Position> result;
  std::size_t end = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    end += steps[i].count;
    if (steps[i].releases && end <= prefix) result = Position(100 * (i + 1));
  }
  return result;
}

void CheckAllOrders(const std::vector<Step>& steps, std::size_t messages) {
  std::vector<std::size_t> order(messages);
  std::iota(order.begin(), order.end(), 0U);
  do {
    AckTracker tracker;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      tracker.Open(steps[i].count,
                   steps[i].releases ? std::optional(Position(100 * (i + 1))) : std::nullopt);
    }
    std::vector<bool> acknowledged(messages, false);
    ASSERT_EQ(tracker.watermark(), Defined(steps, acknowledged));
    for (const std::size_t ticket : order) {
      ASSERT_TRUE(tracker.Ack(Ticket(ticket)).ok());
      acknowledged[ticket] = true;
      ASSERT_EQ(tracker.watermark(), Defined(steps, acknowledged));
    }
    ASSERT_FALSE(tracker.anything_unacknowledged());
  } while (std::next_permutation(order.begin(), order.end()));
}

void CheckAllCuts(std::vector<Step>& steps, std::size_t left, std::size_t messages) {
  if (left == 0) {
    CheckAllOrders(steps, messages);
    return;
  }
  for (std::uint32_t count = 0; count <= left; ++count) {
    const bool empty_twice = count == 0 && !steps.empty() && steps.back().count == 0;
    if (empty_twice) continue;
    for (const bool releases : {false, true}) {
      if (count == 0 && !releases) continue;
      steps.push_back({count, releases});
      CheckAllCuts(steps, left - count, messages);
      steps.pop_back();
    }
  }
}

TEST(AckTracker, AgreesWithTheDefinitionOnAllSmallCases) {
  for (std::size_t messages = 0; messages <= 5; ++messages) {
    std::vector<Step> steps;
    CheckAllCuts(steps, messages, messages);
  }
}

}  // namespace
}  // namespace walpost::watermark
