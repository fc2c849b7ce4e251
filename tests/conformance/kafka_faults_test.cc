// The Kafka sink when brokers refuse or are away, against librdkafka's mock cluster.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "kafka_broker.h"
#include "session.h"
#include "support/status_is.h"

namespace walpost::sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

constexpr char kTopic[] = "orders";

class KafkaFaultsTest : public ::testing::Test {
 protected:
  Session Open(int window = 1000, const std::string& batch = "") {
    Settings settings = SettingsFor("kafka", window);
    WALPOST_CHECK(settings.Set("kafka.brokers", kafka_.bootstrap(), "test").ok());
    if (!batch.empty()) {
      WALPOST_CHECK(
          settings.SetTableEntry("kafka.properties", "batch.num.messages", batch, "test").ok());
    }
    if (!property_.first.empty()) {
      WALPOST_CHECK(
          settings.SetTableEntry("kafka.properties", property_.first, property_.second, "test")
              .ok());
    }
    return Session(OpenSink("kafka", settings));
  }

  static Record Numbered(int number) { return {"key", absl::StrCat(number), {}, 1}; }

  // One message acknowledged: the partition of "key" is no longer new.
  void Prove(Session& session) {
    ASSERT_THAT(session.Submit(kTopic, Numbered(0)), IsOk());
    ASSERT_TRUE(session.Settle());
    ASSERT_EQ(session.delivered(), 1U);
  }

  std::vector<std::string> Delivered(std::size_t count) {
    std::vector<std::string> values;
    for (const Record& record : ConsumeTopic(kafka_.bootstrap(), kTopic, count)) {
      values.push_back(*record.value);
    }
    return values;
  }

  std::pair<std::string, std::string> property_;  // one more, of [kafka.properties]
  MockKafka kafka_;
};

class KafkaRejectionTest : public KafkaFaultsTest,
                           public ::testing::WithParamInterface<rd_kafka_resp_err_t> {
 protected:
  KafkaRejectionTest() { kafka_.CreateTopic(kTopic, 1); }
};

// Catches: a rejected batch that is taken for a transient error (sent for ever) or for poison of
// each of its messages (innocent neighbours dead-lettered), and receipts that stay away.
TEST_P(KafkaRejectionTest, ABatchFailsTheSinkAndReceiptsOfAllFollow) {
  Session session = Open(1000, "10");
  Prove(session);
  kafka_.SetRoundTrip(100);  // so that the rest is queued or in flight when the answer comes
  kafka_.FailProduce({RD_KAFKA_RESP_ERR_NO_ERROR, GetParam()});
  for (int i = 1; i <= 100; ++i) ASSERT_THAT(session.Submit(kTopic, Numbered(i)), IsOk());

  ASSERT_TRUE(session.Settle()) << "outstanding receipts don't follow a failure";
  std::size_t aborted = 0;
  for (const auto& [ticket, status] : session.results()) {
    if (status.ok()) continue;
    EXPECT_THAT(status.code(),
                ::testing::AnyOf(absl::StatusCode::kAborted, absl::StatusCode::kUnavailable));
    aborted += status.code() == absl::StatusCode::kAborted;
  }
  EXPECT_GE(aborted, 1U);  // how many share the rejected request is a matter of timing
  EXPECT_LE(aborted, 10U);
  EXPECT_THAT(session.Offer(kTopic, Numbered(101)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rejected")));
  EXPECT_FALSE(session.sink().health().ready);
  EXPECT_TRUE(session.sink().drained());
}

// Catches: a lone poison message that is replayed for ever, since nobody says that it is the
// culprit.
TEST_P(KafkaRejectionTest, AMessageAloneIsTheCulprit) {
  Session session = Open();
  Prove(session);
  kafka_.FailProduce({GetParam()});
  ASSERT_THAT(session.Submit(kTopic, Numbered(1)), IsOk());
  ASSERT_TRUE(session.Settle());
  EXPECT_THAT(session.results().at(1), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("topic 'orders' partition 0")));
  // Not kInvalidArgument: the next message isn't poison.
  EXPECT_THAT(session.Offer(kTopic, Numbered(2)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rejected")));
}

INSTANTIATE_TEST_SUITE_P(Errors, KafkaRejectionTest,
                         ::testing::Values(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                                           RD_KAFKA_RESP_ERR_INVALID_RECORD,
                                           RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP),
                         [](const auto& error) { return rd_kafka_err2name(error.param); });

// Catches: a lost sequence that is reported to nobody, so that the sink stands still for ever.
TEST_F(KafkaFaultsTest, ALostSequenceFailsTheSinkForANewOne) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  kafka_.FailProduce(std::vector(10, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER));
  kafka_.SetRoundTrip(50);
  for (int i = 1; i <= 50; ++i) ASSERT_THAT(session.Submit(kTopic, Numbered(i)), IsOk());
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(session.delivered(), 1U);
  for (const auto& [ticket, status] : session.results()) {
    if (ticket > 0) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    }
  }
  EXPECT_THAT(session.Offer(kTopic, Numbered(51)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("sequence")));

  kafka_.Forgive();
  Session next = Open();
  Prove(next);
}

// Catches: messages behind a forbidden one that go through once the permission is back: the order
// of the key is lost.
TEST_F(KafkaFaultsTest, AForbiddenTopicStopsTheSinkWithAHint) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  kafka_.SetRoundTrip(50);
  // Every request in flight: the mock takes any sequence, and would store what follows.
  kafka_.FailProduce(std::vector(10, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  for (int i = 1; i <= 50; ++i) ASSERT_THAT(session.Submit(kTopic, Numbered(i)), IsOk());
  ASSERT_TRUE(session.Settle());
  const auto refused = session.Offer(kTopic, Numbered(51));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("'orders'")));
  EXPECT_THAT(HintOf(refused.status()), HasSubstr("Write"));
  EXPECT_EQ(session.delivered(), 1U);
  kafka_.SetRoundTrip(0);
  EXPECT_EQ(Delivered(1), std::vector<std::string>{"0"});
}

// Catches: NOT_LEADER and the like that come up as failures.
TEST_F(KafkaFaultsTest, WhatHealsByRepeatingIsNotSeen) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  kafka_.FailProduce({RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_NO_ERROR,
                      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS});
  // One at a time: the mock would take a later request while an earlier one is repeated.
  for (int i = 1; i <= 5; ++i) {
    ASSERT_THAT(session.Submit(kTopic, Numbered(i)), IsOk());
    ASSERT_TRUE(session.Settle());
  }
  EXPECT_EQ(session.delivered(), 6U);
  EXPECT_EQ(Delivered(6).size(), 6U);
}

// Catches: several messages in flight on a partition that hasn't acknowledged one yet. The broker
// takes any sequence there, so those behind a rejected first one would be delivered.
TEST_F(KafkaFaultsTest, ANewPartitionGetsOneMessageUntilItsFirstAcknowledgement) {
  kafka_.CreateTopic(kTopic, 2);
  Session session = Open();
  ASSERT_THAT(session.Submit(kTopic, {"a", "1", {}, 1}), IsOk());  // waits for metadata
  ASSERT_TRUE(session.Settle());
  kafka_.SetRoundTrip(300);
  // "a" has its acknowledgement; a key of the other partition hasn't.
  std::string other;
  for (int i = 0; other.empty(); ++i) {
    const std::string key = absl::StrCat("k", i);
    ASSERT_THAT(session.Submit(kTopic, {key, "1", {}, 1}), IsOk());
    const auto second = session.Offer(kTopic, {key, "2", {}, 1});
    ASSERT_THAT(second, IsOk());
    if (*second == Admission::kFull) other = key;
  }
  EXPECT_EQ(*session.Offer(kTopic, {other, "2", {}, 1}), Admission::kFull);
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(*session.Offer(kTopic, {other, "2", {}, 1}), Admission::kAccepted);
  EXPECT_EQ(*session.Offer(kTopic, {other, "3", {}, 1}), Admission::kAccepted);
}

// Catches: a message that is too large, taken for a full queue (stuck) or for the end of the sink
// (replayed for ever).
TEST_F(KafkaFaultsTest, AMessageThatIsTooLargeIsRefusedAndTheSinkGoesOn) {
  kafka_.CreateTopic(kTopic, 1);
  // The mock doesn't tell a topic's limit; the client has one too.
  property_ = {"message.max.bytes", "100000"};
  Session session = Open();
  Prove(session);
  const Record large = {"key", std::string(100'000, 'x'), {}, 1};
  const auto refused = session.Offer(kTopic, large);
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("message.max.bytes allows"), HasSubstr("'orders'"))));
  EXPECT_THAT(HintOf(refused.status()), HasSubstr("raise message.max.bytes"));
  EXPECT_THAT(session.Submit(kTopic, Numbered(1)), IsOk());
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(session.delivered(), 2U);
}

TEST_F(KafkaFaultsTest, ATimestampThatNoBrokerTakesIsRefused) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  EXPECT_THAT(session.Offer(kTopic, {"key", "1", {}, -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1970")));
}

// Catches: a row that names an impossible topic and stops everyone else's.
TEST_F(KafkaFaultsTest, AnImpossibleTopicNameIsThatMessagesFault) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  EXPECT_THAT(session.Offer("no topic", Numbered(0)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'no topic'")));
  Prove(session);
}

// Catches: a misspelt topic that is waited for in silence, or counted against a message.
TEST_F(KafkaFaultsTest, AMissingTopicStopsTheSinkWithAHint) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  kafka_.SetTopicError("misspelt", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const absl::Status status = session.Submit("misspelt", Numbered(1));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("topic 'misspelt' does not exist")));
  EXPECT_THAT(HintOf(status), AllOf(HasSubstr("--topic misspelt"), HasSubstr("create_topics")));
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kConfiguration);
  EXPECT_EQ(session.Offer(kTopic, Numbered(2)).status(), status);
}

// Catches: an outage at start that is taken for a missing topic, or that ends the sink.
TEST_F(KafkaFaultsTest, ABrokerThatIsAwayIsWaitedFor) {
  kafka_.CreateTopic(kTopic, 1);
  kafka_.Down();
  Session session = Open();
  EXPECT_EQ(*session.Offer(kTopic, Numbered(0)), Admission::kFull);
  EXPECT_THAT(session.sink().health().reason, HasSubstr("no connection"));
  ASSERT_TRUE(session.TakeUntil([&] {
    return session.sink().health().reason.find("refused") != std::string::npos;
  })) << "errors of the first moment gave no signal";
  EXPECT_FALSE(session.TakeUntil([&] { return session.sink().health().ready; }, absl::Seconds(6)));
  EXPECT_EQ(*session.Offer(kTopic, Numbered(0)), Admission::kFull);
  kafka_.Up();
  // Without a message: readiness comes back by itself.
  EXPECT_TRUE(session.TakeUntil([&] { return session.sink().health().ready; }));
  Prove(session);
}

// Catches: an outage that loses, repeats or reorders what was in flight.
TEST_F(KafkaFaultsTest, AnOutageDelaysAndNothingElse) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  kafka_.Down();
  std::vector<std::string> expected = {"0"};
  for (int i = 1; i <= 200; ++i) {
    ASSERT_THAT(session.Submit(kTopic, Numbered(i)), IsOk());
    expected.push_back(absl::StrCat(i));
  }
  ASSERT_TRUE(session.TakeUntil([&] { return !session.sink().health().ready; }));
  EXPECT_THAT(session.sink().health().reason, Not(HasSubstr("\n")));
  kafka_.Up();
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(session.delivered(), 201U);
  EXPECT_TRUE(session.sink().health().ready) << session.sink().health().reason;
  EXPECT_EQ(Delivered(201), expected);
}

// Catches: a destructor that waits for brokers.
TEST_F(KafkaFaultsTest, DestroyingItWhileTheBrokerIsDownIsQuick) {
  kafka_.CreateTopic(kTopic, 1);
  Session session = Open();
  Prove(session);
  kafka_.Down();
  for (int i = 1; i <= 200; ++i) ASSERT_THAT(session.Submit(kTopic, Numbered(i)), IsOk());
  session.Offer("another", Numbered(0)).IgnoreError();  // a topic is being asked for
  const absl::Time begin = absl::Now();
  session.Destroy();
  RecordProperty("destroy_ms", absl::StrCat(absl::ToInt64Milliseconds(absl::Now() - begin)));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
}

// Catches: the same before there ever was a connection.
TEST_F(KafkaFaultsTest, DestroyingItWithoutAConnectionIsQuick) {
  Settings settings = SettingsFor("kafka", 1000);
  WALPOST_CHECK(settings.Set("kafka.brokers", "127.0.0.1:1", "test").ok());
  Session session(OpenSink("kafka", settings));
  session.Offer(kTopic, Numbered(0)).IgnoreError();
  EXPECT_TRUE(session.TakeUntil(
      [&] { return session.sink().health().reason.find("refused") != std::string::npos; }));
  const absl::Time begin = absl::Now();
  session.Destroy();
  RecordProperty("destroy_ms", absl::StrCat(absl::ToInt64Milliseconds(absl::Now() - begin)));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
}

// Catches: a topic that may not be seen, waited for in silence.
TEST_F(KafkaFaultsTest, ATopicThatMayNotBeSeenStopsTheSinkWithAHint) {
  kafka_.SetTopicError(kTopic, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  Session session = Open();
  const absl::Status status = session.Submit(kTopic, Numbered(1));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("'orders'")));
  EXPECT_THAT(HintOf(status), HasSubstr("Describe"));
}

}  // namespace
}  // namespace walpost::sink
