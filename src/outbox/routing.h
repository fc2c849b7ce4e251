// Where an event goes: its topic and its key. The choices are an operator's; a row's author can
// only choose among the topics that the operator allows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/event.h"
#include "outbox/field.h"
#include "outbox/name_patterns.h"

namespace walpost::outbox {

// What to do with an event that has no key: nothing keeps its order on the topic.
enum class NullKey { kWarn, kReject };

// kText: as Postgres prints it. kJson: as a JSON string with its quotes, as Kafka Connect's
// JsonConverter writes keys. kBinary: the bytes of a bytea.
enum class KeyEncoding { kText, kJson, kBinary };

// Which time a record carries.
enum class RecordTime { kCommit, kOccurredAt };

// The section [routing] of the configuration.
struct RoutingOptions {
  std::string topic = "outbox.event.{aggregate_type}";  // also {event_type}
  std::string allowed_topics;                           // regular expression; "": every topic
  std::string key = "aggregate_id";                     // a text field of the event
  NullKey null_key = NullKey::kWarn;
  bool tombstone_on_null_payload = false;
  std::map<std::string, std::string> headers;  // header → field, beside the defaults
  std::vector<std::string> header_allowlist;  // regular expressions for headers of a row; none pass
  KeyEncoding key_encoding = KeyEncoding::kText;
  RecordTime timestamp = RecordTime::kCommit;
};

// Topics from a template. Thread: loop only.
class TopicRouter {
 public:
  // Errors: kInvalidArgument names the configuration key: an unknown placeholder, a character Kafka
  // doesn't take, a regular expression that isn't one.
  static absl::StatusOr<TopicRouter> Make(const RoutingOptions& options);

  // Valid until the next call. Errors: kInvalidArgument: not a topic Kafka takes, or not allowed.
  absl::StatusOr<std::string_view> TopicOf(const Event& event);

 private:
  using Segment = std::variant<std::string, Field>;  // literal text, or the field to put there

  TopicRouter() = default;
  absl::Status Check() const;

  std::vector<Segment> segments_;
  std::string allowed_;
  std::optional<NamePatterns> allowed_patterns_;
  std::string topic_;
  std::string
      last_allowed_;  // the topic that passed last: most events go where the one before went
};

// A legal name: 1 to 249 of A–Z a–z 0–9 . _ -, and neither "." nor "..".
bool IsTopicName(std::string_view name);

// The text of a field that is text, or none. Requires: IsTextField(field).
std::optional<std::string_view> TextOf(const Event& event, Field field);
bool IsTextField(Field field);

}  // namespace walpost::outbox
