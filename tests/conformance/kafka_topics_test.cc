// The Kafka sink and the topics of a real broker.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "kafka_broker.h"
#include "session.h"
#include "sink/kafka/record_size.h"
#include "support/status_is.h"

namespace walpost::sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

class KafkaTopicsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestKafka().empty()) GTEST_SKIP() << "WALPOST_TEST_KAFKA=HOST:PORT is not set";
  }

  Session Open(bool create_topics, const std::string& codec = "lz4") {
    Settings settings = SettingsFor("kafka", 10'000);
    WALPOST_CHECK(
        settings.SetTableEntry("kafka.properties", "compression.type", codec, "test").ok());
    WALPOST_CHECK(settings.Set("kafka.brokers", TestKafka(), "test").ok());
    WALPOST_CHECK(
        settings.Set("kafka.create_topics", create_topics ? "true" : "false", "test").ok());
    return Session(OpenSink("kafka", settings));
  }
};

// One session after the other, with one memory, as the relay has them.
class Sessions {
 public:
  explicit Sessions(std::string bootstrap) : bootstrap_(std::move(bootstrap)) {}

  void Open() {
    if (session_) delivered_ += session_->delivered();
    session_.reset();
    Settings settings = SettingsFor("kafka", 10'000);
    WALPOST_CHECK(settings.Set("kafka.brokers", bootstrap_, "test").ok());
    session_.emplace(OpenSink("kafka", settings, memory_));
    ++opened_;
  }
  // A sink that has to be made anew says so with nothing outstanding.
  absl::Status Submit(const std::string& topic, const Record& record) {
    absl::Status status = session_->Submit(topic, record);
    if (status.code() != absl::StatusCode::kUnavailable) return status;
    EXPECT_TRUE(session_->sink().drained());
    Open();
    return session_->Submit(topic, record);
  }
  bool Settle() { return session_->Settle(); }
  std::size_t delivered() const { return delivered_ + session_->delivered(); }
  int opened() const { return opened_; }

 private:
  const std::string bootstrap_;
  std::any memory_;
  std::optional<Session> session_;
  std::size_t delivered_ = 0;
  int opened_ = 0;
};

// Catches: a topic that comes into being by being asked for.
TEST_F(KafkaTopicsTest, AMissingTopicIsNotCreatedUnlessConfigured) {
  const std::string topic = UniqueTopic();
  for (int i = 0; i < 2; ++i) {
    Session session = Open(false);
    const absl::Status status = session.Submit(topic, {"k", "v", {}, 1});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 AllOf(HasSubstr(topic), HasSubstr("does not exist"))));
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kConfiguration);
  }
}

// Catches: topics that wait for one another, one after the other; and creation that is repeated.
TEST_F(KafkaTopicsTest, MissingTopicsAreCreatedWhereConfigured) {
  Session session = Open(true);
  std::vector<std::string> topics;
  for (int i = 0; i < 10; ++i) topics.push_back(UniqueTopic());
  for (int round = 0; round < 20; ++round) {
    for (const std::string& topic : topics) {
      ASSERT_THAT(session.Submit(topic, {"k", absl::StrCat(round), {}, 1}), IsOk());
    }
  }
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(session.delivered(), 200U);
  for (const std::string& topic : topics) {
    EXPECT_EQ(ConsumeTopic(TestKafka(), topic, 20).size(), 20U);
  }
}

// Catches: a topic that is missing and holds up the ones that are there.
TEST_F(KafkaTopicsTest, AMissingTopicDoesNotHoldUpOthers) {
  const std::string there = UniqueTopic();
  {
    Session session = Open(true);
    ASSERT_THAT(session.Submit(there, {"k", "1", {}, 1}), IsOk());
    ASSERT_TRUE(session.Settle());
  }
  Session session = Open(false);
  EXPECT_EQ(*session.Offer(UniqueTopic(), {"k", "1", {}, 1}), Admission::kFull);
  const absl::Time begin = absl::Now();
  ASSERT_THAT(session.Submit(there, {"k", "2", {}, 1}), IsOk());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(3));
}

// Catches: messages that pass a rejected one of their key. What the brokers hold must be a prefix
// of what was accepted, whether the rejected batch is the first one on its partition or a later
// one.
TEST_F(KafkaTopicsTest, ARejectedBatchEndsWhatIsDelivered) {
  // Brokers refuse a time that is more than an hour ahead.
  const Record future = {"k", "x", {}, absl::ToUnixMillis(absl::Now() + absl::Hours(3))};
  for (const int good : {0, 1, 500}) {
    const std::string topic = UniqueTopic();
    CreateNarrowTopic(TestKafka(), topic, 1'048'588);
    Session session = Open(false, "none");
    for (int i = 0; i < good; ++i) {
      ASSERT_THAT(session.Submit(topic, {"k", absl::StrCat(i), {}, 1}), IsOk());
    }
    ASSERT_TRUE(session.Settle());
    absl::Status last = session.Submit(topic, future);
    for (int i = good; i < 3000 && last.ok(); ++i) {
      last = session.Submit(topic, {"k", absl::StrCat(i), {}, 1});
    }
    ASSERT_TRUE(session.Settle());
    EXPECT_THAT(session.results().at(static_cast<std::uint64_t>(good)).code(),
                ::testing::AnyOf(absl::StatusCode::kAborted, absl::StatusCode::kInvalidArgument));
    EXPECT_EQ(session.delivered(), static_cast<std::size_t>(good));
    const auto delivered = ConsumeTopic(TestKafka(), topic, static_cast<std::size_t>(good));
    ASSERT_EQ(delivered.size(), static_cast<std::size_t>(good));
    for (int i = 0; i < good; ++i) {
      EXPECT_EQ(delivered[static_cast<std::size_t>(i)].value, absl::StrCat(i));
    }
  }
}

// Catches: a limit that is off by one (the broker refuses, or a message that fits is refused here).
TEST_F(KafkaTopicsTest, ATopicsOwnLimitDecidesToTheByte) {
  constexpr int kLimit = 50'000;
  const std::string topic = UniqueTopic();
  CreateNarrowTopic(TestKafka(), topic, kLimit);
  const auto message = [](std::size_t size) {
    return Record{"key", std::string(size, 'x'), {{"id", "1"}}, 1};
  };
  const outbox::MessageHeader header{"id", "1"};
  const std::size_t overhead = kafka::BatchSizeOf({.topic = topic,
                                                   .key = "key",
                                                   .value = std::string(40'000, 'x'),
                                                   .headers = std::span(&header, 1)}) -
                               40'000;
  Sessions sessions(TestKafka());
  sessions.Open();
  EXPECT_THAT(sessions.Submit(topic, message(kLimit - overhead + 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(topic), HasSubstr("max.message.bytes of 50000"))));
  ASSERT_THAT(sessions.Submit(topic, message(kLimit - overhead)), IsOk());
  ASSERT_TRUE(sessions.Settle());
  EXPECT_EQ(sessions.delivered(), 1U);
}

// Catches: a batch larger than the topic takes, whose innocent messages all fail.
TEST_F(KafkaTopicsTest, BatchesStayBelowTheSmallestLimitInUse) {
  const std::string wide = UniqueTopic();
  const std::string narrow = UniqueTopic();
  CreateNarrowTopic(TestKafka(), wide, 1'048'588);
  CreateNarrowTopic(TestKafka(), narrow, 20'000);
  Sessions sessions(TestKafka());
  sessions.Open();
  const std::string text(900, 'x');
  for (int i = 0; i < 50; ++i) ASSERT_THAT(sessions.Submit(wide, {"k", text, {}, 1}), IsOk());
  for (int i = 0; i < 2000; ++i) ASSERT_THAT(sessions.Submit(narrow, {"k", text, {}, 1}), IsOk());
  ASSERT_TRUE(sessions.Settle());
  EXPECT_EQ(sessions.delivered(), 2050U);
  EXPECT_EQ(sessions.opened(), 2);  // anew once, for the narrow topic
  EXPECT_EQ(ConsumeTopic(TestKafka(), narrow, 2000).size(), 2000U);
}

// Catches: an event of many megabytes that a wide topic would take.
TEST_F(KafkaTopicsTest, AnEventAsLargeAsItsTopicTakesIsDelivered) {
  const std::string topic = UniqueTopic();
  CreateNarrowTopic(TestKafka(), topic, 40'000'000);
  Sessions sessions(TestKafka());
  sessions.Open();
  ASSERT_THAT(sessions.Submit(topic, {"k", "small", {}, 1}), IsOk());
  ASSERT_THAT(sessions.Submit(topic, {"k", std::string(32'000'000, 'x'), {}, 1}), IsOk());
  ASSERT_THAT(sessions.Submit(topic, {"k", "small", {}, 1}), IsOk());
  ASSERT_TRUE(sessions.Settle());
  EXPECT_EQ(sessions.delivered(), 3U);
}

// Catches: messages without a key that all pile up in one partition, or lose their receipts.
TEST_F(KafkaTopicsTest, MessagesWithoutAKeyAreSpread) {
  const std::string topic = UniqueTopic();
  Session session = Open(true);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(session.Submit(topic, {std::nullopt, absl::StrCat(i), {}, 1}), IsOk());
  }
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(session.delivered(), 1000U);
  std::set<std::string> values;
  for (const Record& record : ConsumeTopic(TestKafka(), topic, 1000)) values.insert(*record.value);
  EXPECT_EQ(values.size(), 1000U);
}

}  // namespace
}  // namespace walpost::sink
