#include "base/pq.h"
#include "relay_fixture.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST_F(RelayTest, ConfirmsATransactionOnceAllOfItIsAcknowledged) {
  world_.wal = {{100, 148, {"a", "b"}}, {200, 248, {"c"}}};
  Start();
  ASSERT_EQ(sink().waiting.size(), 3U);
  sink().Acknowledge("c");
  sink().Acknowledge("b");
  Turn();
  EXPECT_EQ(world_.confirmed, 0U);
  sink().Acknowledge("a");
  Turn();
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, AFullWindowPausesReadingUntilTheOldestLands) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}, {300, 348, {"c"}}};
  Start(/*window=*/2);
  EXPECT_EQ(sink().waiting.size(), 2U);
  EXPECT_TRUE(Paused());
  sink().Acknowledge("b");
  Turn();
  EXPECT_EQ(sink().waiting.size(), 1U);  // the oldest still counts
  sink().Acknowledge("a");
  Turn();
  EXPECT_EQ(sink().waiting.size(), 1U);
  EXPECT_EQ(sink().waiting.begin()->second, "c");
  EXPECT_FALSE(Paused());
}

TEST_F(RelayTest, AFullSinkLosesAndRepeatsNothing) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  sink().full = true;
  world_.wal.push_back({300, 348, {"c"}});
  world_.wal.push_back({400, 448, {"d"}});
  Turn();
  EXPECT_TRUE(Paused());
  sink().full = false;
  Turn();
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c", "d"}));
  EXPECT_EQ(world_.confirmed, 448U);
}

TEST_F(RelayTest, AKilledStreamCostsNoDuplicateIfTheBrokerAnswersWithinTheGrace) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b", "c"}}};
  Start();
  ASSERT_EQ(sink().waiting.size(), 3U);
  source().failure = absl::UnavailableError("the server ended the stream");
  Turn();
  EXPECT_EQ(world_.source, nullptr);  // closed at once
  ASSERT_NE(world_.sink, nullptr);    // and what is in flight is waited for
  EXPECT_TRUE(sink().draining);
  sink().AcknowledgeAll();
  Turn();
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c"}));
  EXPECT_TRUE(sink().waiting.empty());
  EXPECT_EQ(world_.confirmed, 248U);  // passed over, and now confirmed
}

TEST_F(RelayTest, WhatWasNotAcknowledgedWithinTheGraceComesAgain) {
  world_.wal = {{100, 148, {"a", "b", "c"}}};
  Start();
  sink().Acknowledge("a");
  sink().Acknowledge("c");
  source().failure = absl::UnavailableError("the server ended the stream");
  Turn();
  Pass(limits::kSettleGrace);
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered,
            (Ids{"a", "c", "b", "c"}));  // the prefix is known, what lies behind the hole isn't
  EXPECT_EQ(world_.confirmed, 148U);
}

TEST_F(RelayTest, ACutTransactionGoesOnBehindItsDeliveredRows) {
  world_.wal = {{100, 148, {"a", "b", "c"}}};
  Start();
  source().hold_rows = 0;
  sink().AcknowledgeAll();
  Turn();
  world_.wal.push_back({200, 248, {"d", "e", "f"}});
  source().hold_rows = 2;
  Turn();
  sink().AcknowledgeAll();
  source().failure = absl::UnavailableError("cut");
  Turn();
  Pass(limits::kMostBackoff);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, AFailedSinkIsSettledAtOnceAndConfirmsNothingPastTheHole) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}};
  Start();
  sink().Acknowledge("a");
  sink().Reject(absl::UnavailableError("the producer is fatally broken"));
  Turn();
  EXPECT_EQ(world_.confirmed, 148U);
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b"}));
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, AnotherHistoryIsNotPassedOver) {
  world_.wal = {{100, 148, {"a"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  world_.identity.timeline = 2;
  world_.confirmed = 0;
  world_.wal = {{100, 148, {"other"}}};
  source().failure = absl::UnavailableError("failover");
  Turn();
  Pass(limits::kMostBackoff);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "other"}));
}

TEST_F(RelayTest, WhatARetryCannotHealStopsWithItsReason) {
  Start();
  source().failure =
      WithExitCode(absl::FailedPreconditionError("slot 'relay' does not exist"), ExitCode::kData);
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_THAT(relay_->outcome(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("slot 'relay'")));
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kData);
  EXPECT_EQ(world_.sessions, 1);
}

TEST_F(RelayTest, ARotatedPasswordHealsButAWrongOneStops) {
  Start();
  source().failure = absl::UnauthenticatedError("password authentication failed");
  Turn();
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  EXPECT_FALSE(relay_->stopped());
}

TEST_F(RelayTest, StoppingReadsTheOpenTransactionDrainsAndSaysTheLastConfirmation) {
  world_.wal = {{100, 148, {"a", "b", "c"}}, {200, 248, {"d"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  world_.wal.push_back({300, 348, {"e", "f"}});
  source().hold_rows = 1;
  Turn();
  relay_->BeginStop();
  Turn();
  EXPECT_FALSE(relay_->stopped());
  source().hold_rows = 10;
  Turn();
  EXPECT_TRUE(sink().draining);
  world_.wal.push_back({400, 448, {"not any more"}});
  Turn();
  sink().AcknowledgeAll();
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_TRUE(relay_->outcome().ok()) << relay_->outcome();
  EXPECT_EQ(world_.delivered.back(), "f");
  EXPECT_EQ(world_.confirmed, 348U);
}

TEST_F(RelayTest, StoppingPastTheDeadlineSaysThatEventsComeAgain) {
  world_.wal = {{100, 148, {"a"}}};
  Start();
  relay_->BeginStop();
  Turn();
  EXPECT_FALSE(relay_->stopped());
  Pass(absl::Seconds(5));
  ASSERT_TRUE(relay_->stopped());
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kUndelivered);
  EXPECT_EQ(world_.confirmed, 0U);
}

TEST_F(RelayTest, AStandbyStopsAtOnceAndIsReady) {
  Start();
  source().Become(SourceState::kStandby);
  EXPECT_TRUE(relay_->Report().ready);
  EXPECT_EQ(relay_->Report().state, RelayState::kStandby);
  relay_->BeginStop();
  EXPECT_TRUE(relay_->stopped());
  EXPECT_TRUE(relay_->outcome().ok());
}

TEST_F(RelayTest, StoppingWhileDisconnectedEndsAtOnce) {
  Start();
  source().failure = absl::UnavailableError("gone");
  Turn();
  relay_->BeginStop();
  Turn();
  EXPECT_TRUE(relay_->stopped());
  EXPECT_TRUE(relay_->outcome().ok());
}

TEST_F(RelayTest, TheNextSessionIsToldWhatThisProcessConfirmed) {
  world_.wal = {{100, 148, {"a"}}};
  Start();
  EXPECT_FALSE(world_.last_seen.has_value());
  sink().AcknowledgeAll();
  Turn();
  source().failure = absl::UnavailableError("gone");
  Turn();
  Pass(limits::kMostBackoff);
  ASSERT_TRUE(world_.last_seen.has_value());
  EXPECT_EQ(world_.last_seen->confirmed, Lsn(148));
  EXPECT_EQ(world_.last_seen->identity, world_.identity);
}

// Catches: a row that the server can't send, retried for ever without a word.
TEST_F(RelayTest, AServerThatFailsAtOnePlaceForEverIsNamed) {
  Start();
  for (int i = 0; i < limits::kSameFailures; ++i) {
    ASSERT_FALSE(relay_->stopped()) << i;
    source().failure = PgError(absl::StatusCode::kUnavailable, "XX000", "invalid memory alloc");
    Turn();
    Pass(limits::kSameFailing / 4);
  }
  ASSERT_TRUE(relay_->stopped());
  EXPECT_THAT(relay_->outcome(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("invalid memory alloc")));
}

TEST_F(RelayTest, StoppingWhileSettlingStillSaysWhatIsDelivered) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}};
  Start();
  sink().Acknowledge("a");
  sink().Refuse("b", absl::UnavailableError("gone"));
  relay_->Step();
  relay_->BeginStop();
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_EQ(world_.confirmed, 148U);
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kUndelivered);
}

}  // namespace
}  // namespace walpost
