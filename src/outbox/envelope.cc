#include "outbox/envelope.h"

#include <google/protobuf/util/json_util.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "outbox/date_time.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost::outbox {
namespace {

using Proto = v1::Envelope;
using SourceProto = v1::Source;
using HeaderProto = v1::Header;

constexpr int kSecondsField = 1;  // of google.protobuf.Timestamp
constexpr int kNanosField = 2;
// A tag takes at most two bytes here, a number or length behind it at most ten.
constexpr std::size_t kMostOverhead = 12;

// The wire format of protobuf:
//   tag   varint  field number << 3 | type
//   type  0 varint · 1 eight bytes, little-endian · 2 length (varint) and bytes
// A field without presence isn't written while it has its default.
enum class WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };

// Writes where its caller has made room: MostBytes() is reckoned from the same fields.
class Writer {
 public:
  explicit Writer(char* start) : at_(start) {}

  const char* at() const { return at_; }

  void Varint(std::uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80U);
      value >>= 7U;
    }
    *at_++ = static_cast<char>(value);
  }

  void Tag(int field, WireType type) {
    Varint(static_cast<std::uint32_t>(field) << 3U | static_cast<std::uint32_t>(type));
  }

  void Bytes(int field, std::string_view bytes) {
    Tag(field, WireType::kBytes);
    Varint(bytes.size());
    at_ += bytes.copy(at_, bytes.size());
  }

  void NonEmpty(int field, std::string_view bytes) {
    if (!bytes.empty()) Bytes(field, bytes);
  }

  void Integer(int field, std::int64_t value) {
    Tag(field, WireType::kVarint);
    Varint(static_cast<std::uint64_t>(value));
  }

  void NonZero(int field, std::int64_t value) {
    if (value != 0) Integer(field, value);
  }

  void NonZeroFixed64(int field, std::uint64_t value) {
    if (value == 0) return;
    Tag(field, WireType::kFixed64);
    for (int shift = 0; shift < 64; shift += 8) *at_++ = static_cast<char>(value >> shift);
  }

  // A message whose size isn't known before: `write` writes its fields. Its length takes one byte
  // as a rule; a longer message is moved to make room.
  template <typename Write>
  void Message(int field, const Write& write) {
    Tag(field, WireType::kBytes);
    char* const length = at_++;
    write();
    const auto size = static_cast<std::uint64_t>(at_ - length - 1);
    if (size < 0x80) {
      *length = static_cast<char>(size);
      return;
    }
    const auto more = static_cast<std::size_t>(std::bit_width(size) - 1) / 7;
    std::memmove(length + 1 + more, length + 1, size);
    Writer(length).Varint(size);
    at_ += more;
  }

 private:
  char* at_;
};

void WriteTimestamp(Writer& writer, int field, absl::Time time) {
  writer.Message(field, [&] {
    const std::int64_t seconds = absl::ToUnixSeconds(time);  // rounded down
    writer.NonZero(kSecondsField, seconds);
    writer.NonZero(kNanosField, absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds)));
  });
}

void WriteSource(Writer& writer, const Origin& origin) {
  writer.Message(Proto::kSourceFieldNumber, [&] {
    writer.NonZeroFixed64(SourceProto::kSystemIdentifierFieldNumber, origin.system_identifier);
    writer.NonEmpty(SourceProto::kDatabaseFieldNumber, origin.database);
    if (!origin.message_prefix.empty()) {
      writer.Bytes(SourceProto::kMessagePrefixFieldNumber, origin.message_prefix);
    } else {
      writer.Bytes(SourceProto::kRelationFieldNumber, origin.relation);
    }
    writer.NonZero(SourceProto::kXidFieldNumber, origin.xid.value);
    writer.NonZeroFixed64(SourceProto::kCommitLsnFieldNumber, origin.commit_lsn.value);
    writer.NonZero(SourceProto::kIndexFieldNumber, origin.index);
    WriteTimestamp(writer, SourceProto::kCommittedAtFieldNumber, origin.committed_at);
    writer.NonZero(SourceProto::kTimelineFieldNumber, origin.timeline);
  });
}

void WriteEnvelope(Writer& writer, const Event& event, const Origin& origin) {
  writer.NonEmpty(Proto::kEventIdFieldNumber, event.event_id);
  writer.NonEmpty(Proto::kEventTypeFieldNumber, event.event_type);
  writer.NonEmpty(Proto::kAggregateTypeFieldNumber, event.aggregate_type);
  writer.NonEmpty(Proto::kAggregateIdFieldNumber, event.aggregate_id.value_or(std::string_view()));
  if (event.aggregate_version) {
    writer.Integer(Proto::kAggregateVersionFieldNumber, *event.aggregate_version);
  }
  if (event.schema_version) {
    writer.Integer(Proto::kSchemaVersionFieldNumber, *event.schema_version);
  }
  if (event.payload) writer.Bytes(Proto::kPayloadFieldNumber, *event.payload);
  writer.NonEmpty(Proto::kContentTypeFieldNumber, event.content_type);
  if (event.occurred_at) {
    WriteTimestamp(writer, Proto::kOccurredAtFieldNumber, *event.occurred_at);
  }
  for (const MessageHeader& header : event.headers) {
    writer.Message(Proto::kHeadersFieldNumber, [&] {
      writer.NonEmpty(HeaderProto::kNameFieldNumber, header.name);
      writer.NonEmpty(HeaderProto::kValueFieldNumber, header.value);
    });
  }
  writer.NonEmpty(Proto::kCorrelationIdFieldNumber, event.correlation_id);
  writer.NonEmpty(Proto::kCausationIdFieldNumber, event.causation_id);
  writer.NonEmpty(Proto::kTraceparentFieldNumber, event.traceparent);
  writer.NonEmpty(Proto::kTracestateFieldNumber, event.tracestate);
  WriteSource(writer, origin);
}

// No less than what the envelope takes: every field with the longest tag and length it can have.
std::size_t MostBytes(const Event& event, const Origin& origin) {
  constexpr std::size_t kFields = 14 + 1 + 8 + 2 * 2;  // Envelope, Source, two timestamps
  std::size_t total = kFields * kMostOverhead;
  for (const std::string_view text :
       {event.event_id, event.event_type, event.aggregate_type,
        event.aggregate_id.value_or(std::string_view()), event.payload.value_or(std::string_view()),
        event.content_type, event.correlation_id, event.causation_id, event.traceparent,
        event.tracestate, origin.database, origin.relation, origin.message_prefix}) {
    total += text.size();
  }
  for (const MessageHeader& header : event.headers) {
    total += 3 * kMostOverhead + header.name.size() + header.value.size();
  }
  return total;
}

}  // namespace

absl::StatusOr<std::string_view> EnvelopeEncoder::Encode(const Event& event, const Origin& origin) {
  if (event.occurred_at && !IsInCommonEra(*event.occurred_at)) {
    return absl::InvalidArgumentError("occurred_at is outside of the years 1 to 9999");
  }
  if (!IsInCommonEra(origin.committed_at)) {
    return absl::InvalidArgumentError("the commit time is outside of the years 1 to 9999");
  }
  const std::size_t most = MostBytes(event, origin);
  if (most > std::numeric_limits<std::int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an envelope of about ", most, " bytes: protobuf reads at most 2 GiB"));
  }
  if (most > buffer_.size()) {
    std::string().swap(buffer_);  // nothing of it is wanted: growing would copy it
    buffer_.resize(most);
  } else if (buffer_.size() > limits::kKeptBuffer && most < limits::kKeptBuffer) {
    std::string(most, '\0').swap(buffer_);
  }
  Writer writer(buffer_.data());
  WriteEnvelope(writer, event, origin);
  const auto size = static_cast<std::size_t>(writer.at() - buffer_.data());
  return std::string_view(buffer_).substr(0, size);
}

absl::StatusOr<std::string> EnvelopeJson(std::string_view envelope) {
  Proto message;
  if (envelope.size() > std::numeric_limits<std::int32_t>::max() ||
      !message.ParseFromArray(envelope.data(), static_cast<int>(envelope.size()))) {
    return absl::InvalidArgumentError("these bytes aren't a walpost.v1.Envelope");
  }
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an envelope without JSON form: ", std::string(status.message())));
  }
  return json;
}

std::optional<std::string> EnvelopeId(std::string_view envelope) {
  Proto parsed;
  if (envelope.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !parsed.ParseFromArray(envelope.data(), static_cast<int>(envelope.size()))) {
    return std::nullopt;
  }
  return parsed.event_id();
}

}  // namespace walpost::outbox
