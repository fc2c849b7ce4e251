#include "outbox/message_reader.h"

#include <gmock/gmock.h>

#include "support/status_is.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost::outbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class MessageReaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<Event> Read(std::string content) {
    content_ = std::move(content);
    return reader_.Read("orders", content_);
  }
  MessageReader reader_;
  std::string content_;
};

TEST_F(MessageReaderTest, AJsonObjectIsReadLikeARow) {
  const auto event = Read(R"({"id":"e1","type":"placed","aggregateId":"7","payload":{"n":1},
      "occurredAt":"2026-01-31T10:00:00.5Z","schema_version":3,"headers":{"x-a":"b"},
      "correlation_id":"c\u0031","extra":[1,2]})");
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->event_id, "e1");
  EXPECT_EQ(event->event_type, "placed");
  EXPECT_EQ(event->aggregate_type, "orders");  // the prefix
  EXPECT_EQ(event->aggregate_id, "7");
  EXPECT_EQ(event->payload, R"({"n":1})");
  EXPECT_EQ(event->content_type, "application/json");
  EXPECT_EQ(event->schema_version, 3);
  EXPECT_EQ(event->correlation_id, "c1");
  EXPECT_EQ(event->occurred_at, absl::FromUnixMillis(1'769'853'600'500));
  ASSERT_EQ(event->headers.size(), 1U);
  EXPECT_EQ(event->headers[0].name, "x-a");
  EXPECT_EQ(reader_.event_id(), "e1");
}

TEST_F(MessageReaderTest, APayloadStringIsItsText) {
  const auto event = Read(R"({"id":"e1","type":"t","payload":"a\"b"})");
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->payload, "a\"b");
  EXPECT_EQ(event->content_type, "text/plain; charset=utf-8");
}

TEST_F(MessageReaderTest, WhatIsMissingOrNullIsAbsent) {
  for (const char* content : {R"({"id":"e1","type":"t"})",
                              R"({"id":"e1","type":"t","payload":null,"aggregate_id":null})"}) {
    const auto event = Read(content);
    ASSERT_THAT(event, IsOk());
    EXPECT_FALSE(event->payload.has_value());
    EXPECT_FALSE(event->aggregate_id.has_value());
  }
}

TEST_F(MessageReaderTest, OfMembersNamedTwiceTheLastCounts) {
  const auto event = Read(R"({"id":"e1","id":"e2","type":"t","type":null,"type":"u"})");
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->event_id, "e2");
  EXPECT_EQ(event->event_type, "u");
}

// Catches: values of one message read by the plan of another.
TEST_F(MessageReaderTest, MembersMayComeInAnyOrderEachTime) {
  EXPECT_EQ(Read(R"({"id":"e1","type":"a","payload":"p"})")->event_type, "a");
  EXPECT_EQ(Read(R"({"payload":{},"type":"b","id":"e2"})")->event_type, "b");
  EXPECT_EQ(Read(R"({"id":"e3","type":"c","payload":"p"})")->payload, "p");
}

TEST_F(MessageReaderTest, AnEnvelopeIsTakenAsItIs) {
  v1::Envelope envelope;
  envelope.set_event_id("e1");
  envelope.set_event_type("placed");
  envelope.set_aggregate_type("order");
  envelope.set_aggregate_id("7");
  envelope.set_aggregate_version(9);
  envelope.set_payload(std::string("\0\xff", 2));
  envelope.set_traceparent("00-1-2-01");
  envelope.mutable_occurred_at()->set_seconds(17);
  auto* header = envelope.add_headers();
  header->set_name("x-a");
  header->set_value("b");
  const auto event = Read(envelope.SerializeAsString());
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->event_id, "e1");
  EXPECT_EQ(event->aggregate_type, "order");
  EXPECT_EQ(event->aggregate_id, "7");
  EXPECT_EQ(event->aggregate_version, 9);
  EXPECT_FALSE(event->schema_version.has_value());
  EXPECT_EQ(event->payload, (std::string_view("\0\xff", 2)));
  EXPECT_EQ(event->content_type, "application/octet-stream");
  EXPECT_EQ(event->occurred_at, absl::FromUnixSeconds(17));
  EXPECT_EQ(event->headers[0].value, "b");
  EXPECT_EQ(event->traceparent, "00-1-2-01");
}

// Catches: an envelope whose first bytes, a newline and the length of an id, look like JSON.
TEST_F(MessageReaderTest, AnEnvelopeThatBeginsLikeJsonIsAnEnvelope) {
  v1::Envelope envelope;
  envelope.set_event_id(std::string(123, 'e'));
  envelope.set_event_type("t");
  const auto event = Read(envelope.SerializeAsString());
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->event_id, std::string(123, 'e'));
}

TEST_F(MessageReaderTest, WhatCannotBeAnEventNamesPrefixIdAndFault) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "is neither a JSON object nor a walpost.v1.Envelope"},
      {"no such thing", "is neither a JSON object nor a walpost.v1.Envelope"},
      {"{\"id\":\"e1\"", "isn't well-formed JSON"},
      {"{\"id\":\"\xff\"}", "isn't valid UTF-8"},
      {R"({"id":"e1"})", "has no member event_type"},
      {R"({"type":"t"})", "has no member event_id"},
      {R"({"id":"e1","type":"t","schema_version":"x"})", "isn't a whole number"},
      {R"({"id":"e1","type":"t","occurred_at":"yesterday"})", "doesn't read as a timestamp"},
      {R"({"id":"\ud800","type":"t"})", "isn't well-formed JSON"},
      {v1::Envelope().SerializeAsString() + std::string("\x12\x01t", 3), "has no event_id"},
  };
  for (const auto& [content, fault] : cases) {
    EXPECT_THAT(Read(content),
                StatusIs(kInvalid, AllOf(HasSubstr("prefix 'orders'"), HasSubstr(fault))))
        << content;
  }
  EXPECT_THAT(Read(R"({"id":"e1","type":"t","schema_version":"x"})"),
              StatusIs(kInvalid, HasSubstr("event 'e1'")));
}

// Every truncation is an error or an event, never a crash.
TEST_F(MessageReaderTest, EveryTruncationIsSurvived) {
  const std::string whole =
      R"({"id":"e1","type":"t","occurred_at":"2026-01-31 10:00:00+00","payload":"\u00e4\n"})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Read(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(Read(whole), IsOk());
}

}  // namespace
}  // namespace walpost::outbox
