// The fields of an event by name, as configuration keys, column names and headers refer to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace walpost::outbox {

enum class Field : std::uint8_t {
  kEventId,
  kEventType,
  kAggregateType,
  kAggregateId,
  kAggregateVersion,
  kSchemaVersion,
  kPayload,
  kContentType,
  kOccurredAt,
  kHeaders,
  kCorrelationId,
  kCausationId,
  kTraceparent,
  kTracestate,
};
inline constexpr std::size_t kFieldCount = 14;

// What a field's value is read as.
enum class FieldForm : std::uint8_t { kText, kInteger, kTime, kPayload, kHeaders };

struct FieldInfo {
  Field field;
  std::string_view name;  // "event_id"
  FieldForm form;
  bool required;  // a table without it (and without a constant) can't be an outbox
  // Column names that mean this field, in order of preference, as NormalizedName() gives them.
  std::array<std::string_view, 2> synonyms;
};

// In the order of the enum.
std::span<const FieldInfo, kFieldCount> Fields();

inline const FieldInfo& InfoOf(Field field) { return Fields()[static_cast<std::size_t>(field)]; }

// By its exact name.
std::optional<Field> FindField(std::string_view name);

// Every field's name, separated by ", ", for messages about an unknown one.
std::string FieldNames();

// Lower case (ASCII) and without underscores: "Aggregate_Id" and "aggregateid" are one name.
std::string NormalizedName(std::string_view name);

}  // namespace walpost::outbox
