// Events as messages for a sink: topic, key, value, headers and time, as the configuration wants
// them.
//
// Last station of the outbox folder. It decides nothing about failures: an event that can't become
// a message is an error here, and the relay's policy says what follows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/envelope.h"
#include "outbox/event.h"
#include "outbox/message.h"
#include "outbox/message_headers.h"
#include "outbox/routing.h"

namespace walpost::outbox {

// format.value: the protobuf envelope, the same as canonical JSON, or the payload alone.
enum class ValueFormat { kEnvelope, kEnvelopeJson, kPayload };

// Since the beginning, for metrics.
struct MessageCounters {
  std::uint64_t null_keys = 0;        // messages built without a key
  std::uint64_t dropped_headers = 0;  // headers of rows that weren't let through
};

// Thread: loop only. In steady state Build() allocates nothing (kEnvelopeJson apart).
class MessageBuilder {
 public:
  // Errors: kInvalidArgument names the key of [routing] and its fault.
  static absl::StatusOr<std::unique_ptr<MessageBuilder>> Make(RoutingOptions options,
                                                              ValueFormat format);

  // The message views the event, what the event views, and this builder: valid until the next
  // Build() and as long as those are.
  //
  // Errors: kInvalidArgument: this event can't become a message (its topic isn't allowed or isn't
  // one, it has no key where one must be, its envelope would be too large). Names the event.
  absl::StatusOr<Message> Build(const Event& event, const Origin& origin);

  MessageCounters counters() const { return {null_keys_, headers_.dropped()}; }

 private:
  MessageBuilder(RoutingOptions options, ValueFormat format, Field key, TopicRouter topics,
                 HeaderBuilder headers);

  absl::Status Fill(const Event& event, const Origin& origin, Message& message);
  absl::StatusOr<std::optional<std::string_view>> KeyOf(const Event& event);
  absl::StatusOr<std::optional<std::string_view>> ValueOf(const Event& event, const Origin& origin);
  std::string_view ContentTypeOf(const Event& event) const;
  absl::Time TimeOf(const Event& event, const Origin& origin) const;

  const RoutingOptions options_;
  const ValueFormat format_;
  const Field key_field_;
  TopicRouter topics_;
  HeaderBuilder headers_;
  EnvelopeEncoder encoder_;
  std::string json_;  // the value in kEnvelopeJson
  std::string key_;   // an encoded key
  std::uint64_t null_keys_ = 0;
};

}  // namespace walpost::outbox
