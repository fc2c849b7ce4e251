// Which column of a table gives which field of an event: decided once per description of a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capture/batch.h"
#include "outbox/field.h"
#include "outbox/value.h"

namespace walpost::outbox {

// What the configuration says about columns. All keys are names of fields ("event_type").
struct MappingOptions {
  // Field → column; source.columns. "" as a column: the field is not taken from the table.
  std::map<std::string, std::string> columns;
  // Field → value for every row; source.constants. Goes before any column.
  std::map<std::string, std::string> constants;
  // Field → (value in the column → name to publish); source.values. A row whose value isn't listed
  // is refused: published under the wrong name it couldn't be taken back.
  std::map<std::string, std::map<std::string, std::string>> values;
};

// Errors: kInvalidArgument names the configuration key and its fault.
absl::Status CheckMappingOptions(const MappingOptions& options);

// Where one field comes from: a column, a constant, or nowhere.
struct FieldSource {
  std::optional<ColumnReader> reader;
  std::size_t column = 0;                 // index; meaningful with a reader
  const std::string* constant = nullptr;  // of the options
  std::optional<std::int64_t> integer;    // the constant of a field that is a number
  const std::map<std::string, std::string>* names = nullptr;  // of the options

  bool exists() const { return reader.has_value() || constant != nullptr; }
};

struct MappingPlan {
  std::shared_ptr<const capture::Relation> relation;  // kept: its address is its identity
  std::string relation_name;                          // "schema.table"
  std::array<FieldSource, kFieldCount> fields;
  bool java_span_context = false;  // the traceparent column is Debezium's tracingspancontext

  const FieldSource& source(Field field) const { return fields[static_cast<std::size_t>(field)]; }
};

// `options` must have passed CheckMappingOptions() and outlive the plan.
//
// Errors: kFailedPrecondition: a required column is missing, two columns could be the same field, a
// configured column doesn't exist, or a column's type can't give its field. Names table, column and
// the configuration key to set.
absl::StatusOr<MappingPlan> MakeMappingPlan(std::shared_ptr<const capture::Relation> relation,
                                            const MappingOptions& options);

}  // namespace walpost::outbox
