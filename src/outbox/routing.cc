#include "outbox/routing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"

namespace walpost::outbox {
namespace {

bool IsTopicCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool AreTopicCharacters(std::string_view text) {
  for (const char c : text) {
    if (!IsTopicCharacter(c)) return false;
  }
  return true;
}

absl::Status TemplateFault(std::string_view topic, std::string_view what) {
  return WithHint(absl::InvalidArgumentError(
                      absl::StrCat("routing.topic '", ToAbsl(topic), "' ", ToAbsl(what))),
                  "placeholders are {aggregate_type} and {event_type}; other characters are "
                  "letters, digits, '.', "
                  "'_' and '-'");
}

}  // namespace

absl::StatusOr<TopicRouter> TopicRouter::Make(const RoutingOptions& options) {
  TopicRouter router;
  std::string_view rest = options.topic;
  if (rest.empty()) return TemplateFault(options.topic, "is empty");
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    const std::string_view literal = rest.substr(0, open);
    if (!AreTopicCharacters(literal)) {
      return TemplateFault(options.topic, "has a character that Kafka doesn't take in a topic");
    }
    if (!literal.empty()) router.segments_.emplace_back(std::string(literal));
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos)
      return TemplateFault(options.topic, "has a '{' without '}'");
    const std::string_view name = rest.substr(open + 1, close - open - 1);
    const auto field = FindField(name);
    if (field != Field::kAggregateType && field != Field::kEventType) {
      return TemplateFault(options.topic,
                           absl::StrCat("has the unknown placeholder {", ToAbsl(name), "}"));
    }
    router.segments_.emplace_back(*field);
    rest.remove_prefix(close + 1);
  }
  router.allowed_ = options.allowed_topics;
  if (!options.allowed_topics.empty()) {
    ASSIGN_OR_RETURN(router.allowed_patterns_,
                     NamePatterns::Make("routing.allowed_topics", {options.allowed_topics}));
  }
  const auto* literal = std::get_if<std::string>(&router.segments_.front());
  if (literal == nullptr && options.allowed_topics.empty()) {
    return WithHint(
        absl::InvalidArgumentError(absl::StrCat("routing.topic '", options.topic,
                                                "' lets a row choose any topic of the cluster")),
        "set routing.allowed_topics, or begin the template with text");
  }
  if (literal != nullptr && router.segments_.size() == 1) {
    router.topic_ = *literal;
    const bool allowed = !router.allowed_patterns_ || router.allowed_patterns_->Matches(*literal);
    if (!allowed || !router.Check().ok()) {
      return TemplateFault(options.topic, allowed ? "is longer than Kafka takes"
                                                  : "isn't allowed by routing.allowed_topics");
    }
  }
  return router;
}

absl::StatusOr<std::string_view> TopicRouter::TopicOf(const Event& event) {
  topic_.clear();
  for (const Segment& segment : segments_) {
    if (const auto* literal = std::get_if<std::string>(&segment)) {
      topic_ += *literal;
    } else {
      topic_ += std::get<Field>(segment) == Field::kAggregateType ? event.aggregate_type
                                                                  : event.event_type;
    }
  }
  if (topic_ == last_allowed_ && !topic_.empty()) return std::string_view(topic_);
  RETURN_IF_ERROR(Check());
  if (allowed_patterns_ && !allowed_patterns_->Matches(topic_)) {
    return WithHint(
        absl::InvalidArgumentError(absl::StrCat(
            "topic '", topic_, "' isn't allowed by routing.allowed_topics '", allowed_, "'")),
        "extend routing.allowed_topics if such events are wanted");
  }
  last_allowed_ = topic_;
  return std::string_view(topic_);
}

absl::Status TopicRouter::Check() const {
  if (topic_.size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a topic of ", topic_.size(),
                                                   " bytes, beginning with '", topic_.substr(0, 40),
                                                   "': Kafka takes at most ", limits::kNameBytes));
  }
  if (!IsTopicName(topic_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "topic '", topic_, "' isn't legal: Kafka takes letters, digits, '.', '_' and '-'"));
  }
  return absl::OkStatus();
}

bool IsTopicName(std::string_view name) {
  return !name.empty() && name.size() <= limits::kNameBytes && name != "." && name != ".." &&
         AreTopicCharacters(name);
}

bool IsTextField(Field field) { return InfoOf(field).form == FieldForm::kText; }

std::optional<std::string_view> TextOf(const Event& event, Field field) {
  const auto unless_empty = [](std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  switch (field) {
    case Field::kEventId:
      return unless_empty(event.event_id);
    case Field::kEventType:
      return unless_empty(event.event_type);
    case Field::kAggregateType:
      return unless_empty(event.aggregate_type);
    case Field::kAggregateId:
      return event.aggregate_id;
    case Field::kContentType:
      return unless_empty(event.content_type);
    case Field::kCorrelationId:
      return unless_empty(event.correlation_id);
    case Field::kCausationId:
      return unless_empty(event.causation_id);
    case Field::kTraceparent:
      return unless_empty(event.traceparent);
    case Field::kTracestate:
      return unless_empty(event.tracestate);
    case Field::kAggregateVersion:
    case Field::kSchemaVersion:
    case Field::kPayload:
    case Field::kOccurredAt:
    case Field::kHeaders:
      break;
  }
  return std::nullopt;
}

}  // namespace walpost::outbox
