#include "outbox/message_builder.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/outbox/support.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost::outbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MessageBuilderTest : public ::testing::Test {
 protected:
  MessageBuilderTest() {
    event_.event_id = "e-1";
    event_.event_type = "Placed";
    event_.aggregate_type = "order";
    event_.aggregate_id = "o-1";
    event_.payload = "{}";
    event_.content_type = "text/csv";
    origin_.relation = "public.outbox";
    origin_.committed_at = absl::FromUnixSeconds(1000);
  }

  absl::StatusOr<Message> Build(ValueFormat format = ValueFormat::kEnvelope) {
    auto builder = MessageBuilder::Make(options_, format);
    EXPECT_THAT(builder, IsOk());
    builder_ = std::move(builder).value();
    return builder_->Build(event_, origin_);
  }

  static std::string HeaderOf(const Message& message, std::string_view name) {
    for (const MessageHeader& header : message.headers) {
      if (header.name == name) return std::string(header.value);
    }
    return "(none)";
  }

  RoutingOptions options_;
  Event event_;
  Origin origin_;
  std::unique_ptr<MessageBuilder> builder_;
};

TEST_F(MessageBuilderTest, AnEnvelopeByDefault) {
  const auto message = Build();
  ASSERT_THAT(message, IsOk());
  EXPECT_EQ(message->topic, "outbox.event.order");
  EXPECT_EQ(message->key, "o-1");
  EXPECT_EQ(message->timestamp, absl::FromUnixSeconds(1000));
  EXPECT_EQ(HeaderOf(*message, "content-type"), "application/x-protobuf");
  EXPECT_EQ(HeaderOf(*message, "aggregateType"), "(none)");
  v1::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(std::string(*message->value)));
  EXPECT_EQ(envelope.event_id(), "e-1");
  EXPECT_EQ(envelope.payload(), "{}");
  EXPECT_EQ(envelope.content_type(), "text/csv");
}

TEST_F(MessageBuilderTest, TheEnvelopeAsJson) {
  const auto message = Build(ValueFormat::kEnvelopeJson);
  ASSERT_THAT(message, IsOk());
  EXPECT_EQ(HeaderOf(*message, "content-type"), "application/json");
  EXPECT_THAT(std::string(*message->value),
              AllOf(HasSubstr(R"("eventId":"e-1")"), HasSubstr(R"("payload":"e30=")")));
}

TEST_F(MessageBuilderTest, ThePayloadAlone) {
  const auto message = Build(ValueFormat::kPayload);
  ASSERT_THAT(message, IsOk());
  EXPECT_EQ(message->value, "{}");
  EXPECT_EQ(HeaderOf(*message, "content-type"), "text/csv");
  EXPECT_EQ(HeaderOf(*message, "aggregateType"), "order");
}

TEST_F(MessageBuilderTest, ANullPayloadIsATombstoneOnlyOnRequest) {
  event_.payload = std::nullopt;
  for (const auto format :
       {ValueFormat::kEnvelope, ValueFormat::kEnvelopeJson, ValueFormat::kPayload}) {
    options_.tombstone_on_null_payload = false;
    EXPECT_TRUE(Build(format)->value.has_value());
    options_.tombstone_on_null_payload = true;
    const auto message = Build(format);
    ASSERT_THAT(message, IsOk());
    EXPECT_EQ(message->value, std::nullopt);
    EXPECT_EQ(HeaderOf(*message, "content-type"), "(none)");
    EXPECT_EQ(HeaderOf(*message, "id"), "e-1");
  }
}

TEST_F(MessageBuilderTest, AnEmptyPayloadIsNeverATombstone) {
  event_.payload = "";
  options_.tombstone_on_null_payload = true;
  EXPECT_EQ(Build(ValueFormat::kPayload)->value, "");
}

TEST_F(MessageBuilderTest, EmptyValuesHaveAnAddress) {
  // A client takes a null pointer for a tombstone.
  event_.payload = std::nullopt;
  EXPECT_NE(Build(ValueFormat::kPayload)->value->data(), nullptr);
  event_.payload = std::string_view();
  EXPECT_NE(Build(ValueFormat::kPayload)->value->data(), nullptr);
}

TEST_F(MessageBuilderTest, WithoutAKeyItGoesAndIsCounted) {
  event_.aggregate_id = std::nullopt;
  const auto message = Build();
  ASSERT_THAT(message, IsOk());
  EXPECT_EQ(message->key, std::nullopt);
  EXPECT_EQ(builder_->counters().null_keys, 1U);
}

TEST_F(MessageBuilderTest, WithoutAKeyItIsRefusedOnRequest) {
  event_.aggregate_id = std::nullopt;
  options_.null_key = NullKey::kReject;
  EXPECT_THAT(Build(), StatusIs(kInvalid, AllOf(HasSubstr("event 'e-1'"), HasSubstr("aggregate_id"),
                                                HasSubstr("routing.null_key"))));
  EXPECT_EQ(builder_->counters().null_keys, 0U);
}

TEST_F(MessageBuilderTest, TheKeyIsAnyTextField) {
  options_.key = "event_id";
  EXPECT_EQ(Build()->key, "e-1");
  options_.key = "correlation_id";
  EXPECT_EQ(Build()->key, std::nullopt);
  for (const char* key : {"payload", "schema_version", "occurred_at", "headers", "id", ""}) {
    options_.key = key;
    EXPECT_THAT(MessageBuilder::Make(options_, ValueFormat::kEnvelope),
                StatusIs(kInvalid, HasSubstr(std::string("routing.key '") + key + "'")));
  }
}

TEST_F(MessageBuilderTest, KeysAreEncodedAsConfigured) {
  event_.aggregate_id = "a\"ä";
  options_.key_encoding = KeyEncoding::kJson;
  EXPECT_EQ(Build()->key, R"("a\"ä")");
  options_.key_encoding = KeyEncoding::kBinary;
  event_.aggregate_id = "\\x00ff";
  EXPECT_EQ(Build()->key, std::string_view("\x00\xff", 2));
  event_.aggregate_id = "o-1";
  EXPECT_THAT(Build(), StatusIs(kInvalid, HasSubstr("aggregate_id isn't a bytea")));
}

TEST_F(MessageBuilderTest, TheTimeIsTheCommitsUnlessAskedOtherwise) {
  event_.occurred_at = absl::FromUnixSeconds(500);
  EXPECT_EQ(Build()->timestamp, absl::FromUnixSeconds(1000));
  options_.timestamp = RecordTime::kOccurredAt;
  EXPECT_EQ(Build()->timestamp, absl::FromUnixSeconds(500));
  event_.occurred_at = absl::FromUnixSeconds(1001);  // in the future, as far as we know
  EXPECT_EQ(Build()->timestamp, absl::FromUnixSeconds(1000));
  event_.occurred_at = absl::FromUnixSeconds(-1);  // Kafka has no such time
  EXPECT_EQ(Build()->timestamp, absl::FromUnixSeconds(1000));
  event_.occurred_at = std::nullopt;
  EXPECT_EQ(Build()->timestamp, absl::FromUnixSeconds(1000));
}

TEST_F(MessageBuilderTest, WhatCannotBeAMessageNamesTheEvent) {
  event_.aggregate_type = "no such topic";
  EXPECT_THAT(Build(),
              StatusIs(kInvalid, AllOf(HasSubstr("event 'e-1': topic 'outbox.event.no such"),
                                       HasSubstr("isn't legal"))));
}

TEST_F(MessageBuilderTest, DroppedHeadersAreCounted) {
  const MessageHeader headers[] = {{"x", "1"}, {"y", "2"}};
  event_.headers = headers;
  options_.header_allowlist = {"y"};
  const auto message = Build();
  ASSERT_THAT(message, IsOk());
  EXPECT_EQ(HeaderOf(*message, "y"), "2");
  EXPECT_EQ(builder_->counters().dropped_headers, 1U);
}

TEST_F(MessageBuilderTest, WrongOptionsAreRefusedAtTheStart) {
  options_.topic = "{nonsense}";
  EXPECT_THAT(MessageBuilder::Make(options_, ValueFormat::kEnvelope),
              StatusIs(kInvalid, HasSubstr("routing.topic")));
  options_ = {};
  options_.headers = {{"x", "nonsense"}};
  EXPECT_THAT(MessageBuilder::Make(options_, ValueFormat::kEnvelope),
              StatusIs(kInvalid, HasSubstr("routing.headers.x")));
  options_ = {};
  options_.header_allowlist = {"("};
  EXPECT_THAT(MessageBuilder::Make(options_, ValueFormat::kEnvelope),
              StatusIs(kInvalid, HasSubstr("routing.header_allowlist")));
}

}  // namespace
}  // namespace walpost::outbox
