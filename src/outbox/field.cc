#include "outbox/field.h"

namespace walpost::outbox {
namespace {

constexpr std::array<FieldInfo, kFieldCount> kFields = {{
    {Field::kEventId, "event_id", FieldForm::kText, true, {"eventid", "id"}},
    {Field::kEventType, "event_type", FieldForm::kText, true, {"eventtype", "type"}},
    {Field::kAggregateType, "aggregate_type", FieldForm::kText, false, {"aggregatetype", ""}},
    {Field::kAggregateId, "aggregate_id", FieldForm::kText, true, {"aggregateid", ""}},
    {Field::kAggregateVersion,
     "aggregate_version",
     FieldForm::kInteger,
     false,
     {"aggregateversion", ""}},
    {Field::kSchemaVersion, "schema_version", FieldForm::kInteger, false, {"schemaversion", ""}},
    {Field::kPayload, "payload", FieldForm::kPayload, true, {"payload", ""}},
    {Field::kContentType, "content_type", FieldForm::kText, false, {"contenttype", ""}},
    {Field::kOccurredAt, "occurred_at", FieldForm::kTime, false, {"occurredat", "createdat"}},
    {Field::kHeaders, "headers", FieldForm::kHeaders, false, {"headers", "metadata"}},
    {Field::kCorrelationId, "correlation_id", FieldForm::kText, false, {"correlationid", ""}},
    {Field::kCausationId, "causation_id", FieldForm::kText, false, {"causationid", ""}},
    {Field::kTraceparent,
     "traceparent",
     FieldForm::kText,
     false,
     {"traceparent", "tracingspancontext"}},
    {Field::kTracestate, "tracestate", FieldForm::kText, false, {"tracestate", ""}},
}};

}  // namespace

std::span<const FieldInfo, kFieldCount> Fields() { return kFields; }

std::optional<Field> FindField(std::string_view name) {
  for (const FieldInfo& info : kFields) {
    if (info.name == name) return info.field;
  }
  return std::nullopt;
}

std::string FieldNames() {
  std::string names;
  for (const FieldInfo& info : kFields) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

std::string NormalizedName(std::string_view name) {
  std::string normalized;
  for (const char c : name) {
    if (c == '_') continue;
    normalized += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return normalized;
}

}  // namespace walpost::outbox
