#include "outbox/message_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "outbox/json_scan.h"
#include "outbox/value.h"

namespace walpost::outbox {

absl::StatusOr<std::unique_ptr<MessageBuilder>> MessageBuilder::Make(RoutingOptions options,
                                                                     ValueFormat format) {
  const auto key = FindField(options.key);
  if (!key || !IsTextField(*key)) {
    return WithHint(absl::InvalidArgumentError(absl::StrCat("routing.key '", options.key,
                                                            "' isn't a text field of an event")),
                    "the usual key is aggregate_id");
  }
  ASSIGN_OR_RETURN(TopicRouter topics, TopicRouter::Make(options));
  ASSIGN_OR_RETURN(HeaderBuilder headers,
                   HeaderBuilder::Make(options.headers, options.header_allowlist));
  return std::unique_ptr<MessageBuilder>(
      new MessageBuilder(std::move(options), format, *key, std::move(topics), std::move(headers)));
}

MessageBuilder::MessageBuilder(RoutingOptions options, ValueFormat format, Field key,
                               TopicRouter topics, HeaderBuilder headers)
    : options_(std::move(options)),
      format_(format),
      key_field_(key),
      topics_(std::move(topics)),
      headers_(std::move(headers)) {}

absl::StatusOr<Message> MessageBuilder::Build(const Event& event, const Origin& origin) {
  Message message;
  const absl::Status status = Fill(event, origin, message);
  if (status.ok()) return message;
  return WithContext(status, absl::StrCat("event '", ToAbsl(ShownId(event.event_id)), "'"));
}

absl::Status MessageBuilder::Fill(const Event& event, const Origin& origin, Message& message) {
  ASSIGN_OR_RETURN(message.topic, topics_.TopicOf(event));
  ASSIGN_OR_RETURN(message.key, KeyOf(event));
  ASSIGN_OR_RETURN(message.value, ValueOf(event, origin));
  message.headers =
      headers_.Build(event, origin, message.value ? ContentTypeOf(event) : std::string_view(),
                     format_ == ValueFormat::kPayload);
  message.timestamp = TimeOf(event, origin);
  if (!message.key) ++null_keys_;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string_view>> MessageBuilder::KeyOf(const Event& event) {
  const std::optional<std::string_view> text = TextOf(event, key_field_);
  if (!text) {
    if (options_.null_key == NullKey::kWarn) return text;
    return absl::InvalidArgumentError(absl::StrCat(
        "has no ", options_.key, " to be its key, and routing.null_key is \"reject\""));
  }
  key_.clear();
  switch (options_.key_encoding) {
    case KeyEncoding::kText:
      return text;
    case KeyEncoding::kJson:
      AppendJsonString(*text, key_);
      return std::optional<std::string_view>(key_);
    case KeyEncoding::kBinary:
      if (AppendHexBytes(*text, key_)) return std::optional<std::string_view>(key_);
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(options_.key, " isn't a bytea, and routing.key_encoding is \"binary\""));
}

absl::StatusOr<std::optional<std::string_view>> MessageBuilder::ValueOf(const Event& event,
                                                                        const Origin& origin) {
  if (!event.payload && options_.tombstone_on_null_payload) {
    return std::optional<std::string_view>();
  }
  // Without that option a null payload is an empty value, never a null one: a tombstone deletes.
  if (format_ == ValueFormat::kPayload) {
    const bool some = event.payload && !event.payload->empty();
    return std::optional<std::string_view>(some ? *event.payload : "");
  }
  ASSIGN_OR_RETURN(const std::string_view envelope, encoder_.Encode(event, origin));
  if (format_ == ValueFormat::kEnvelope) return std::optional(envelope);
  ASSIGN_OR_RETURN(json_, EnvelopeJson(envelope));
  return std::optional<std::string_view>(json_);
}

std::string_view MessageBuilder::ContentTypeOf(const Event& event) const {
  switch (format_) {
    case ValueFormat::kEnvelope:
      return "application/x-protobuf";
    case ValueFormat::kEnvelopeJson:
      return "application/json";
    case ValueFormat::kPayload:
      return event.content_type;
  }
  return {};
}

// A broker refuses a whole batch for one time in the future or before the epoch, so neither leaves
// here.
absl::Time MessageBuilder::TimeOf(const Event& event, const Origin& origin) const {
  if (options_.timestamp == RecordTime::kOccurredAt && event.occurred_at &&
      *event.occurred_at <= origin.committed_at && *event.occurred_at >= absl::UnixEpoch()) {
    return *event.occurred_at;
  }
  return origin.committed_at;
}

}  // namespace walpost::outbox
