#include "outbox/mapper.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"
#include "outbox/date_time.h"
#include "outbox/json_scan.h"
#include "outbox/span_context.h"
#include "outbox/wrapped_payload.h"

namespace walpost::outbox {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kBinaryType = "application/octet-stream";
constexpr std::string_view kTextType = "text/plain; charset=utf-8";

const capture::Value& ValueOf(const capture::Row& row, const FieldSource& source) {
  return row.values[source.column];
}

bool IsNull(const capture::Row& row, const FieldSource& source) {
  return ValueOf(row, source).kind == capture::Value::Kind::kNull;
}

// A fault of what `field` came from: a column as a rule, else the configuration or the table's
// name.
absl::Status FaultOf(const FieldSource& source, Field field, std::string_view what) {
  if (source.reader) return source.reader->Fault(what);
  return absl::InvalidArgumentError(
      absl::StrCat("the constant for ", ToAbsl(InfoOf(field).name), " ", ToAbsl(what)));
}

// Blanks at the end of a char(n) are padding, as in Postgres's own cast to text.
std::string_view WithoutPadding(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

Mapper::Mapper(MappingOptions options)
    : options_(std::move(options)), options_status_(CheckMappingOptions(options_)) {}

absl::StatusOr<const MappingPlan*> Mapper::PlanOf(
    const std::shared_ptr<const capture::Relation>& relation) {
  if (last_ != nullptr && last_->relation == relation) return last_;
  const auto known = plans_.find(relation.get());
  if (known != plans_.end()) return last_ = known->second.get();
  last_ = nullptr;
  if (plans_.size() >= limits::kMappings) plans_.clear();
  ASSIGN_OR_RETURN(MappingPlan plan, MakeMappingPlan(relation, options_));
  auto& kept = plans_[relation.get()];
  kept = std::make_unique<MappingPlan>(std::move(plan));
  return last_ = kept.get();
}

absl::StatusOr<Event> Mapper::Map(const capture::Row& row) {
  event_id_ = {};
  if (!options_status_.ok()) return options_status_;
  ASSIGN_OR_RETURN(const MappingPlan* plan, PlanOf(row.relation));
  if (row.values.size() != plan->relation->columns.size()) {
    return absl::InvalidArgumentError(absl::StrCat("table ", plan->relation_name, ": a row of ",
                                                   row.values.size(), " values for ",
                                                   plan->relation->columns.size(), " columns"));
  }
  for (std::string& scratch : scratch_) {
    if (scratch.capacity() > limits::kKeptBuffer) std::string().swap(scratch);
  }
  Event event;
  const absl::Status status = Fill(row, *plan, event);
  if (status.ok()) return event;
  return WithContext(status, event_id_.empty()
                                 ? absl::StrCat("an event of table ", plan->relation_name)
                                 : absl::StrCat("event '", ToAbsl(ShownId(event_id_)),
                                                "' of table ", plan->relation_name));
}

absl::Status Mapper::Fill(const capture::Row& row, const MappingPlan& plan, Event& event) {
  RETURN_IF_ERROR(ReadRequired(row, plan, Field::kEventId, event.event_id));
  event_id_ = event.event_id;
  RETURN_IF_ERROR(ReadRequired(row, plan, Field::kEventType, event.event_type));
  RETURN_IF_ERROR(ReadRequired(row, plan, Field::kAggregateType, event.aggregate_type));
  RETURN_IF_ERROR(ReadText(row, plan, Field::kAggregateId, event.aggregate_id));
  RETURN_IF_ERROR(ReadOptional(row, plan, Field::kCorrelationId, event.correlation_id));
  RETURN_IF_ERROR(ReadOptional(row, plan, Field::kCausationId, event.causation_id));
  RETURN_IF_ERROR(FillVersions(row, plan, event));
  RETURN_IF_ERROR(FillOccurredAt(row, plan, event));
  RETURN_IF_ERROR(FillTrace(row, plan, event));
  RETURN_IF_ERROR(FillHeaders(row, plan, event));
  return FillPayload(row, plan, event);
}

absl::Status Mapper::ReadText(const capture::Row& row, const MappingPlan& plan, Field field,
                              OptionalText& text) {
  const FieldSource& source = plan.source(field);
  text.reset();
  if (source.constant != nullptr) {
    text = *source.constant;
    return absl::OkStatus();
  }
  if (!source.reader || IsNull(row, source)) return absl::OkStatus();
  ASSIGN_OR_RETURN(text, source.reader->Text(ValueOf(row, source), Scratch(field)));
  if (source.reader->kind() == TypeKind::kPaddedText) text = WithoutPadding(*text);
  if (source.names == nullptr) return absl::OkStatus();
  const auto name = source.names->find(std::string(*text));
  if (name != source.names->end()) {
    text = name->second;
    return absl::OkStatus();
  }
  return WithHint(source.reader->Fault("holds a value that has no name in the configuration"),
                  absl::StrCat("add the value to source.values.", ToAbsl(InfoOf(field).name)));
}

absl::Status Mapper::ReadRequired(const capture::Row& row, const MappingPlan& plan, Field field,
                                  std::string_view& text) {
  OptionalText read;
  RETURN_IF_ERROR(ReadText(row, plan, field, read));
  if (read && !read->empty()) {
    text = *read;
    return absl::OkStatus();
  }
  return FaultOf(plan.source(field), field,
                 absl::StrCat(read ? "is empty" : "is null", ": no ", ToAbsl(InfoOf(field).name)));
}

absl::Status Mapper::ReadOptional(const capture::Row& row, const MappingPlan& plan, Field field,
                                  std::string_view& text) {
  text = {};
  if (!plan.source(field).exists()) return absl::OkStatus();
  OptionalText read;
  RETURN_IF_ERROR(ReadText(row, plan, field, read));
  text = read.value_or(std::string_view());
  return absl::OkStatus();
}

absl::Status Mapper::FillVersions(const capture::Row& row, const MappingPlan& plan, Event& event) {
  const auto integer = [&](Field field) -> absl::StatusOr<std::optional<std::int64_t>> {
    const FieldSource& source = plan.source(field);
    if (source.integer) return source.integer;
    if (!source.reader || IsNull(row, source)) return std::optional<std::int64_t>();
    ASSIGN_OR_RETURN(const std::int64_t number, source.reader->Integer(ValueOf(row, source)));
    return std::optional(number);
  };
  if (plan.source(Field::kAggregateVersion).exists()) {
    ASSIGN_OR_RETURN(event.aggregate_version, integer(Field::kAggregateVersion));
  }
  if (!plan.source(Field::kSchemaVersion).exists()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> schema_version,
                   integer(Field::kSchemaVersion));
  if (!schema_version) return absl::OkStatus();
  if (*schema_version < std::numeric_limits<std::int32_t>::min() ||
      *schema_version > std::numeric_limits<std::int32_t>::max()) {
    return plan.source(Field::kSchemaVersion).reader->Fault("is out of range for schema_version");
  }
  event.schema_version = static_cast<std::int32_t>(*schema_version);
  return absl::OkStatus();
}

absl::Status Mapper::FillOccurredAt(const capture::Row& row, const MappingPlan& plan,
                                    Event& event) {
  const FieldSource& source = plan.source(Field::kOccurredAt);
  if (!source.reader || IsNull(row, source)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::Time time, source.reader->Time(ValueOf(row, source)));
  if (!IsInCommonEra(time)) return source.reader->Fault("is outside of the years 1 to 9999");
  event.occurred_at = time;
  return absl::OkStatus();
}

absl::Status Mapper::FillTrace(const capture::Row& row, const MappingPlan& plan, Event& event) {
  RETURN_IF_ERROR(ReadOptional(row, plan, Field::kTraceparent, event.traceparent));
  RETURN_IF_ERROR(ReadOptional(row, plan, Field::kTracestate, event.tracestate));
  // A W3C traceparent has no '=': such text is a java.util.Properties, whatever the column's name.
  if (!plan.java_span_context && event.traceparent.find('=') == std::string_view::npos) {
    return absl::OkStatus();
  }
  const std::string_view properties = event.traceparent;
  event.traceparent = PropertyOf(properties, "traceparent", unescaped_traceparent_);
  if (event.tracestate.empty()) {
    event.tracestate = PropertyOf(properties, "tracestate", Scratch(Field::kTracestate));
  }
  return absl::OkStatus();
}

absl::Status Mapper::FillHeaders(const capture::Row& row, const MappingPlan& plan, Event& event) {
  headers_.clear();
  OptionalText json;
  RETURN_IF_ERROR(ReadText(row, plan, Field::kHeaders, json));
  if (!json || *json == "{}" || *json == "null") return absl::OkStatus();
  std::string& unescaped = Scratch(Field::kHeaders);
  unescaped.clear();
  unescaped.reserve(json->size());  // no view into it may move
  bool well_formed = true;
  const auto unescape = [&](std::string_view raw) -> std::string_view {
    const auto text = UnescapeJson(raw, unescaped);
    well_formed = well_formed && text.has_value();
    return text.value_or(std::string_view());
  };
  const JsonShape shape = ScanJson(*json, [&](std::string_view name, std::string_view value) {
    if (value == "null") return;
    const std::string_view header = unescape(name);
    headers_.push_back(
        {header, value.front() == '"' ? unescape(value.substr(1, value.size() - 2)) : value});
  });
  if (shape != JsonShape::kObject || !well_formed) {
    return FaultOf(plan.source(Field::kHeaders), Field::kHeaders, "isn't a JSON object");
  }
  event.headers = headers_;
  return absl::OkStatus();
}

absl::Status Mapper::FillPayload(const capture::Row& row, const MappingPlan& plan, Event& event) {
  const FieldSource& source = plan.source(Field::kPayload);
  TypeKind kind = TypeKind::kText;
  if (source.constant != nullptr) {
    event.payload = *source.constant;
  } else {
    kind = source.reader->kind();
    if (!IsNull(row, source)) {
      ASSIGN_OR_RETURN(event.payload,
                       source.reader->Payload(ValueOf(row, source), Scratch(Field::kPayload)));
    }
  }
  RETURN_IF_ERROR(ReadOptional(row, plan, Field::kContentType, event.content_type));
  const bool json = kind == TypeKind::kJson || kind == TypeKind::kJsonb;
  if (event.payload && (json || IsFreeText(kind))) FillFromWrapped(*event.payload, json, event);
  if (event.content_type.empty()) {
    event.content_type = json ? kJsonType : kind == TypeKind::kBytea ? kBinaryType : kTextType;
  }
  return absl::OkStatus();
}

// Looks into a payload that is or may be JSON, no further than needed: for the type of its content
// where the column's type doesn't tell, and for what the wrapped form says and no column did.
void Mapper::FillFromWrapped(std::string_view payload, bool known_json, Event& event) {
  const bool type_unknown = !known_json && event.content_type.empty();
  const bool all_known =
      event.schema_version && !event.correlation_id.empty() && !event.causation_id.empty();
  const std::size_t first = payload.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (payload[first] != '{' && payload[first] != '[')) return;
  if (!type_unknown && (all_known || payload[first] != '{' || !MayBeWrapped(payload))) return;
  WrappedPayload wrapped;
  const JsonShape shape = ReadWrappedPayload(payload, wrapped);
  if (type_unknown && (shape == JsonShape::kObject || shape == JsonShape::kArray)) {
    event.content_type = kJsonType;
  }
  if (!wrapped.version) return;
  if (!event.schema_version) event.schema_version = wrapped.version;
  const auto fill = [this](std::string_view& id, Field field, std::string_view raw) {
    if (!id.empty()) return;
    Scratch(field).clear();
    id = UnescapeJson(raw, Scratch(field)).value_or(std::string_view());
  };
  fill(event.correlation_id, Field::kCorrelationId, wrapped.correlation_id);
  fill(event.causation_id, Field::kCausationId, wrapped.causation_id);
}

}  // namespace walpost::outbox
