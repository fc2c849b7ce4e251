#include "outbox/envelope.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/outbox/support.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost::outbox {
namespace {

using ::testing::HasSubstr;

const MessageHeader kHeaders[] = {{"x-tenant", "t1"}, {"x-empty", ""}};

Event FullEvent() {
  Event event;
  event.event_id = "e-1";
  event.event_type = "OrderPlaced";
  event.aggregate_type = "order";
  event.aggregate_id = "o-1";
  event.aggregate_version = 0;
  event.schema_version = -3;
  event.payload = std::string_view("\x00\xff{}", 4);
  event.content_type = "application/json";
  event.occurred_at = absl::FromUnixMicros(1772361296123456);
  event.headers = kHeaders;
  event.correlation_id = "r-1";
  event.causation_id = "c-1";
  event.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  event.tracestate = "a=b";
  return event;
}

Origin FullOrigin() {
  Origin origin;
  origin.system_identifier = 7500000000000000001;
  origin.timeline = 1;
  origin.database = "shop";
  origin.relation = "public.outbox";
  origin.xid = Xid(4000000000);
  origin.commit_lsn = Lsn(0x16B3748A8);
  origin.index = 3;
  origin.committed_at = absl::FromUnixMicros(1772361297000005);
  return origin;
}

// Encoded by `protoc --encode=walpost.v1.Envelope` from the text format of the same values.
constexpr char kFullBytes[] =
    "0a03652d31120b4f72646572506c616365641a056f7264657222036f2d31280030fdffffffffffff"
    "ffff013a0400ff7b7d42106170706c69636174696f6e2f6a736f6e4a0b08d0ac90cd06108094ef3a"
    "520e0a08782d74656e616e741202743152090a07782d656d7074795a03722d316203632d316a3730"
    "302d30616637363531393136636434336464383434386562323131633830333139632d6237616436"
    "62373136393230333333312d30317203613d627a3c0901006e67435a1568120473686f701a0d7075"
    "626c69632e6f7574626f782880d0acf30e31a848376b010000003803420908d1ac90cd0610882748"
    "01";
constexpr char kLeastBytes[] =
    "0a01651201741a01614201637a181a03732e74421108ffffffffffffffffff011080cab5ee01";

std::string Encode(const Event& event, const Origin& origin) {
  EnvelopeEncoder encoder;
  const auto bytes = encoder.Encode(event, origin);
  EXPECT_THAT(bytes, IsOk());
  return bytes.ok() ? std::string(*bytes) : std::string();
}

TEST(Envelope, GoldenBytesOfAFullEvent) {
  EXPECT_EQ(ToHex(Encode(FullEvent(), FullOrigin())), kFullBytes);
}

TEST(Envelope, GoldenBytesOfTheLeastEvent) {
  Event event;
  event.event_id = "e";
  event.event_type = "t";
  event.aggregate_type = "a";
  event.content_type = "c";
  Origin origin;
  origin.relation = "s.t";
  origin.committed_at = absl::UnixEpoch() - absl::Milliseconds(500);
  EXPECT_EQ(ToHex(Encode(event, origin)), kLeastBytes);
}

// Would catch a field that was added to the .proto and forgotten in the encoder.
TEST(Envelope, TheGoldenEventSetsEveryField) {
  v1::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(Encode(FullEvent(), FullOrigin())));
  const auto all_set = [](const google::protobuf::Message& message) {
    const auto* descriptor = message.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      if (field->name() == "message_prefix") continue;  // instead of relation
      const auto* reflection = message.GetReflection();
      EXPECT_TRUE(field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                       : reflection->HasField(message, field))
          << field->full_name();
    }
  };
  all_set(envelope);
  all_set(envelope.source());
  all_set(envelope.headers(0));
}

// The generated class is the reference: parsing and serializing again must change nothing.
TEST(Envelope, IsWhatTheGeneratedClassWrites) {
  const std::string payload(100000, 'p');
  const std::string name(300, 'n');
  for (const std::size_t size : {0U, 1U, 126U, 127U, 128U, 16383U, 16384U, 100000U}) {
    Event event = FullEvent();
    event.payload = std::string_view(payload).substr(0, size);
    const MessageHeader headers[] = {{name, std::string_view(payload).substr(0, size)}};
    event.headers = headers;
    event.aggregate_version = static_cast<std::int64_t>(size) - 127;
    event.occurred_at = absl::FromUnixNanos(static_cast<std::int64_t>(size) * 999999999 - 5);
    Origin origin = FullOrigin();
    origin.database = std::string_view(name).substr(0, size);
    origin.index = static_cast<std::uint32_t>(size);
    const std::string bytes = Encode(event, origin);
    v1::Envelope envelope;
    ASSERT_TRUE(envelope.ParseFromString(bytes));
    EXPECT_EQ(envelope.SerializeAsString(), bytes) << size;
    EXPECT_EQ(envelope.payload().size(), size);
    EXPECT_EQ(envelope.headers(0).value().size(), size);
  }
}

TEST(Envelope, ANullPayloadIsAbsentAndAnEmptyOneIsNot) {
  v1::Envelope envelope;
  Event event = FullEvent();
  event.payload = std::nullopt;
  ASSERT_TRUE(envelope.ParseFromString(Encode(event, FullOrigin())));
  EXPECT_FALSE(envelope.has_payload());
  event.payload = "";
  ASSERT_TRUE(envelope.ParseFromString(Encode(event, FullOrigin())));
  EXPECT_TRUE(envelope.has_payload());
}

TEST(Envelope, ALogicalMessageHasAPrefixInsteadOfARelation) {
  Origin origin = FullOrigin();
  origin.relation = {};
  origin.message_prefix = "outbox";
  v1::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(Encode(FullEvent(), origin)));
  EXPECT_EQ(envelope.source().origin_case(), v1::Source::kMessagePrefix);
  EXPECT_EQ(envelope.source().message_prefix(), "outbox");
}

TEST(Envelope, TheBufferServesEventAfterEvent) {
  EnvelopeEncoder encoder;
  const std::string large(5000000, 'x');
  Event event = FullEvent();
  event.payload = large;
  ASSERT_THAT(encoder.Encode(event, FullOrigin()), IsOk());
  EXPECT_EQ(ToHex(*encoder.Encode(FullEvent(), FullOrigin())), kFullBytes);
  EXPECT_EQ(ToHex(*encoder.Encode(FullEvent(), FullOrigin())), kFullBytes);
}

TEST(Envelope, RefusesTimesThatProtobufHasNoFormFor) {
  EnvelopeEncoder encoder;
  Event event = FullEvent();
  event.occurred_at = absl::InfiniteFuture();
  EXPECT_THAT(encoder.Encode(event, FullOrigin()),
              StatusIs(kInvalid, HasSubstr("occurred_at is outside of the years 1 to 9999")));
  Origin origin = FullOrigin();
  origin.committed_at = absl::InfinitePast();
  EXPECT_THAT(encoder.Encode(FullEvent(), origin),
              StatusIs(kInvalid, HasSubstr("the commit time is outside")));
}

TEST(Envelope, JsonIsProtobufsCanonicalFormInOneLine) {
  const auto json = EnvelopeJson(Encode(FullEvent(), FullOrigin()));
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(*json,
            R"({"eventId":"e-1","eventType":"OrderPlaced","aggregateType":"order",)"
            R"("aggregateId":"o-1","aggregateVersion":"0","schemaVersion":-3,"payload":"AP97fQ==",)"
            R"("contentType":"application/json","occurredAt":"2026-03-01T10:34:56.123456Z",)"
            R"("headers":[{"name":"x-tenant","value":"dDE="},{"name":"x-empty"}],)"
            R"("correlationId":"r-1","causationId":"c-1",)"
            R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",)"
            R"("tracestate":"a=b","source":{"systemIdentifier":"7500000000000000001",)"
            R"("database":"shop","relation":"public.outbox","xid":4000000000,)"
            R"("commitLsn":"6093752488","index":3,"committedAt":"2026-03-01T10:34:57.000005Z",)"
            R"("timeline":1}})");
}

TEST(Envelope, JsonOfOtherBytesIsRefusedAtEveryTruncation) {
  const std::string bytes = Encode(FullEvent(), FullOrigin());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto json = EnvelopeJson(bytes.substr(0, size));
    // A cut between two fields is a shorter envelope.
    if (json.ok()) continue;
    EXPECT_THAT(json, StatusIs(kInvalid, HasSubstr("walpost.v1.Envelope")));
  }
  EXPECT_THAT(EnvelopeJson("\xff\xff"), StatusIs(kInvalid, HasSubstr("walpost.v1.Envelope")));
}

}  // namespace
}  // namespace walpost::outbox
