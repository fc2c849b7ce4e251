// The relay and events that can never be delivered.
#include "relay_fixture.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST_F(RelayTest, APoisonRowStopsBehindWhatCameBefore) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b", "", "c"}}};
  Start();
  EXPECT_FALSE(relay_->stopped());
  sink().AcknowledgeAll();
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_THAT(relay_->outcome(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("event 00000000000000C8-00000001")));
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kData);
  EXPECT_EQ(world_.delivered, (Ids{"a", "b"}));
  EXPECT_EQ(world_.confirmed, 148U);
}

TEST_F(RelayTest, APoisonRowGoesToTheDeadLettersAndTheRestKeepsItsOrder) {
  poison_options_.dead_letter = true;
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b", "", "c"}}};
  Start();
  EXPECT_EQ(sink().waiting.size(), 4U);
  EXPECT_THAT(world_.dead_letters[""], HasSubstr("event 00000000000000C8-00000001"));
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "", "c"}));
  EXPECT_EQ(world_.confirmed, 248U);
}

// A dead letter is delivery only once it is acknowledged itself.
TEST_F(RelayTest, ADeadLetterHoldsTheConfirmationUntilItIsAcknowledged) {
  poison_options_.dead_letter = true;
  world_.wal = {{100, 148, {"a", ""}}};
  Start();
  sink().Acknowledge("a");
  Turn();
  EXPECT_EQ(world_.confirmed, 0U);
  sink().Acknowledge("");
  Turn();
  EXPECT_EQ(world_.confirmed, 148U);
}

TEST_F(RelayTest, AnEventThatTheSinkCallsTooLargeIsDiverted) {
  poison_options_.dead_letter = true;
  Start();
  sink().too_large = "b";
  world_.wal = {{100, 148, {"a", "b", "c"}}};
  Turn();
  sink().AcknowledgeAll();
  Turn();
  EXPECT_THAT(world_.dead_letters["b"], HasSubstr("too large"));
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c"}));
}

TEST_F(RelayTest, UnderStopAnOperatorGetsPastOneEventByItsPosition) {
  poison_options_.events = {"00000000000000C8-00000001"};
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b", "", "c"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.dead_letters.size(), 1U);
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, UnderStopAnEventIsNamedByItsIdToo) {
  poison_options_.events = {"b"};
  world_.wal = {{100, 148, {"a", "b"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  EXPECT_THAT(world_.dead_letters["b"], HasSubstr("delivery.dead_letter_events"));
}

TEST_F(RelayTest, ThePoisonVerdictUnderStopSaysHowToGetPastIt) {
  world_.wal = {{200, 248, {""}}};
  Start();
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_THAT(HintOf(relay_->outcome()),
              HasSubstr("delivery.dead_letter_events = [\"00000000000000C8-00000000\"]"));
}

// The broker refuses a batch: the replay sends its range singly, at once, and the culprit alone is
// diverted.
TEST_F(RelayTest, ARejectedBatchIsReplayedSinglyUntilTheCulpritIsKnown) {
  poison_options_.dead_letter = true;
  world_.wal = {{100, 148, {"a", "b", "c"}}, {200, 248, {"d"}}};
  Start();
  sink().Acknowledge("a");
  sink().Refuse("b", absl::AbortedError("batch rejected"));
  Turn();  // settled, and begun anew without a back-off
  ASSERT_EQ(world_.sessions, 2);
  ASSERT_EQ(sink().waiting.size(), 1U);
  EXPECT_EQ(sink().waiting.begin()->second, "b");
  sink().Refuse("b", absl::InvalidArgumentError("rejected alone"));
  Turn(8);
  ASSERT_EQ(world_.sessions, 3);
  EXPECT_THAT(world_.dead_letters["b"], HasSubstr("rejected alone"));
  for (int i = 0; i < 4 && world_.confirmed < 248; ++i) {
    sink().AcknowledgeAll();
    Turn();
  }
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c", "d"}));
  EXPECT_EQ(world_.confirmed, 248U);
  EXPECT_EQ(metrics_.messages_redelivered.Value(), 4);  // b alone; then b as a dead letter, c, d
}

TEST_F(RelayTest, UnderStopARejectedEventStopsTheRelay) {
  world_.wal = {{100, 148, {"a"}}};
  Start();
  sink().Refuse("a", absl::InvalidArgumentError("rejected alone"));
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kData);
}

TEST_F(RelayTest, ADeadLetterTopicThatRefusesStopsTheRelay) {
  poison_options_.dead_letter = true;
  world_.wal = {{100, 148, {""}}};
  Start();
  sink().Refuse("", absl::InvalidArgumentError("rejected alone"));
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_EQ(world_.confirmed, 0U);
}

// A dead-letter topic may be narrower than the topic an event was meant for.
TEST_F(RelayTest, ADeadLetterThatIsTooLargeGoesWithoutItsContent) {
  poison_options_.events = {"b"};
  Start();
  sink().too_large_letter = "b";
  world_.wal = {{100, 148, {"a", "b", "c"}}};
  Turn();
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c"}));
  EXPECT_EQ(world_.confirmed, 148U);
  EXPECT_EQ(world_.meant_topics["b"], "outbox.event.order");
  EXPECT_THAT(world_.dead_letters["b"], HasSubstr("delivery.dead_letter_events"));
  EXPECT_EQ(metrics_.DeadLetters("outbox.dead_letter").Value(), 1);
}

}  // namespace
}  // namespace walpost
