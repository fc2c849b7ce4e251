#include "outbox/message_reader.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "outbox/date_time.h"
#include "outbox/json_scan.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost::outbox {
namespace {

// Object ids of the types that a member's value is given.
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kJson = 114;
constexpr std::uint32_t kTimestamptz = 1184;
// No timestamp that is printed is longer: with year, offset and " BC".
constexpr std::size_t kTimeText = 64;

absl::Status Fault(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, what);
}

bool Means(std::string_view column, Field field) {
  const auto& synonyms = InfoOf(field).synonyms;
  const std::string name = NormalizedName(column);
  return name == synonyms[0] || name == synonyms[1];
}

// RFC 3339 in Postgres's own form; what is in that form already, or in none, stays as it is.
std::string_view PostgresTime(std::string_view text, std::string& out) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error) || !IsInCommonEra(time)) {
    return text;
  }
  constexpr std::int64_t kPostgresEpoch = 946'684'800'000'000;  // 2000-01-01 in Unix microseconds
  const std::size_t begin = out.size();
  AppendTimestamptz(absl::ToUnixMicros(time) - kPostgresEpoch, out);
  return std::string_view(out).substr(begin);
}

template <typename T>
std::optional<T> Optional(bool has, T value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

MessageReader::MessageReader() : envelope_(std::make_unique<v1::Envelope>()) {
  // What doesn't parse is told by our own log, in its own form.
  google::protobuf::SetLogHandler(nullptr);
}
MessageReader::~MessageReader() = default;

absl::StatusOr<Event> MessageReader::Read(std::string_view prefix, std::string_view content) {
  event_id_ = {};
  // No envelope begins with '{' (that would be the start of a group), but with what JSON takes for
  // blanks: a newline is the tag of event_id.
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && content[first] == '{';
  absl::StatusOr<Event> event = json ? ReadJson(prefix, content) : ReadEnvelope(prefix, content);
  if (!event.ok() && json && first > 0) {
    absl::StatusOr<Event> envelope = ReadEnvelope(prefix, content);
    if (envelope.ok()) event = std::move(envelope);
  }
  if (event.ok()) return event;
  const std::string id =
      event_id_.empty() ? "" : absl::StrCat("event '", ToAbsl(ShownId(event_id_)), "': ");
  return WithHint(Fault(absl::StrCat(id, "logical message of prefix '", ToAbsl(ShownId(prefix)),
                                     "' ", event.status().message())),
                  HintOf(event.status()));
}

absl::StatusOr<Event> MessageReader::ReadEnvelope(std::string_view prefix,
                                                  std::string_view content) {
  if (content.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      content.empty() ||
      !envelope_->ParseFromArray(content.data(), static_cast<int>(content.size()))) {
    return Fault("is neither a JSON object nor a walpost.v1.Envelope");
  }
  const v1::Envelope& from = *envelope_;
  event_id_ = from.event_id();
  if (from.event_id().empty()) return Fault("has no event_id");
  if (from.event_type().empty()) return Fault("has no event_type");
  Event event{.event_id = from.event_id(),
              .event_type = from.event_type(),
              .aggregate_type = from.aggregate_type().empty() ? prefix : from.aggregate_type()};
  event.aggregate_id =
      Optional<std::string_view>(!from.aggregate_id().empty(), from.aggregate_id());
  event.aggregate_version = Optional(from.has_aggregate_version(), from.aggregate_version());
  event.schema_version = Optional(from.has_schema_version(), from.schema_version());
  event.payload = Optional<std::string_view>(from.has_payload(), from.payload());
  event.content_type = from.content_type();
  if (event.content_type.empty()) event.content_type = "application/octet-stream";
  if (from.has_occurred_at()) {
    event.occurred_at = absl::FromUnixSeconds(from.occurred_at().seconds()) +
                        absl::Nanoseconds(from.occurred_at().nanos());
    if (!IsInCommonEra(*event.occurred_at)) return Fault("has an occurred_at out of range");
  }
  headers_.clear();
  for (const v1::Header& header : from.headers()) {
    headers_.push_back({header.name(), header.value()});
  }
  event.headers = headers_;
  event.correlation_id = from.correlation_id();
  event.causation_id = from.causation_id();
  event.traceparent = from.traceparent();
  event.tracestate = from.tracestate();
  return event;
}

absl::StatusOr<Event> MessageReader::ReadJson(std::string_view prefix, std::string_view content) {
  if (!IsValidUtf8(content)) return Fault("isn't valid UTF-8");
  capture::Relation relation{{}, "message", std::string(prefix), {}};
  values_.clear();
  text_.clear();
  text_.reserve(content.size() + kTimeText);  // no view into it may move
  bool well_formed = true;
  const JsonShape shape = ScanJson(content, [&](std::string_view name, std::string_view value) {
    well_formed = AddMember(name, value, relation) && well_formed;
  });
  if (shape != JsonShape::kObject || !well_formed) return Fault("isn't well-formed JSON");
  RETURN_IF_ERROR(AddMissing(relation));
  if (!relation_ || !(relation == *relation_)) {
    relation_ = std::make_shared<const capture::Relation>(std::move(relation));
  }
  absl::StatusOr<Event> event = mapper_.Map({relation_, values_});
  event_id_ = mapper_.event_id();
  return event;
}

bool MessageReader::AddMember(std::string_view name, std::string_view value,
                              capture::Relation& relation) {
  std::string unescaped_name;
  const auto column_name = UnescapeJson(name, unescaped_name);
  if (!column_name) return false;
  const std::size_t index = ColumnFor(std::string(*column_name), relation);
  capture::Column& column = relation.columns[index];
  capture::Value& to = values_[index];
  column.type_oid = kText;
  if (value == "null") {
    to = {};
    return true;
  }
  if (value.front() != '"') {
    if (value.front() == '{' || value.front() == '[') column.type_oid = kJson;
    to = {capture::Value::Kind::kText, value};
    return true;
  }
  auto text = UnescapeJson(value.substr(1, value.size() - 2), text_);
  if (!text) return false;
  if (Means(column.name, Field::kOccurredAt)) {
    column.type_oid = kTimestamptz;
    if (text_.capacity() - text_.size() >= kTimeText) text = PostgresTime(*text, text_);
  }
  to = {capture::Value::Kind::kText, *text};
  return true;
}

std::size_t MessageReader::ColumnFor(std::string name, capture::Relation& relation) {
  auto& columns = relation.columns;
  const auto known = std::find_if(columns.begin(), columns.end(),
                                  [&](const capture::Column& c) { return c.name == name; });
  if (known != columns.end()) return static_cast<std::size_t>(known - columns.begin());
  columns.push_back({std::move(name), kText, -1, "", ""});
  values_.emplace_back();
  return columns.size() - 1;
}

// A table must have these columns; an event may do without their values.
absl::Status MessageReader::AddMissing(capture::Relation& relation) {
  for (const FieldInfo& info : Fields()) {
    if (!info.required) continue;
    const bool has =
        std::any_of(relation.columns.begin(), relation.columns.end(),
                    [&](const capture::Column& column) { return Means(column.name, info.field); });
    if (has) continue;
    if (info.field == Field::kEventId || info.field == Field::kEventType) {
      return Fault(absl::StrCat("has no member ", ToAbsl(info.name)));
    }
    ColumnFor(std::string(info.name), relation);
  }
  return absl::OkStatus();
}

}  // namespace walpost::outbox
