#include "outbox/mapping_plan.h"

#include <charconv>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "outbox/json_scan.h"

namespace walpost::outbox {
namespace {

using Columns = std::vector<capture::Column>;

absl::Status UnknownField(std::string_view section, std::string_view field) {
  return WithHint(absl::InvalidArgumentError(absl::StrCat(ToAbsl(section), ".", ToAbsl(field),
                                                          ": an event has no such field")),
                  "fields are: " + FieldNames());
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

bool FitsField(Field field, std::int64_t number) {
  return field != Field::kSchemaVersion || (number >= std::numeric_limits<std::int32_t>::min() &&
                                            number <= std::numeric_limits<std::int32_t>::max());
}

absl::Status CheckConstant(const FieldInfo& info, std::string_view value) {
  const auto fault = [&info](std::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("source.constants.", ToAbsl(info.name), " ", ToAbsl(what)));
  };
  if (info.field == Field::kEventId || info.form == FieldForm::kTime) {
    return fault("would be the same for every event; only a column can give it");
  }
  if (!IsValidUtf8(value)) return fault("isn't valid UTF-8");
  if (info.form == FieldForm::kInteger) {
    const auto number = ParseInteger(value);
    if (!number || !FitsField(info.field, *number)) return fault("isn't a whole number in range");
  }
  if (info.form == FieldForm::kHeaders && ScanJson(value) != JsonShape::kObject) {
    return fault("isn't a JSON object");
  }
  if (value.empty() && (info.field == Field::kEventType || info.field == Field::kAggregateType)) {
    return fault("is empty");
  }
  return absl::OkStatus();
}

bool Suits(FieldForm form, TypeKind kind) {
  if (kind == TypeKind::kUnsupported) return false;
  switch (form) {
    case FieldForm::kText:
    case FieldForm::kPayload:
      return true;
    case FieldForm::kInteger:
      return kind == TypeKind::kInt2 || kind == TypeKind::kInt4 || kind == TypeKind::kInt8 ||
             kind == TypeKind::kOid || kind == TypeKind::kNumeric || IsFreeText(kind);
    case FieldForm::kTime:
      return kind == TypeKind::kTimestamptz || kind == TypeKind::kTimestamp ||
             kind == TypeKind::kDate;
    case FieldForm::kHeaders:
      return kind == TypeKind::kJson || kind == TypeKind::kJsonb || IsFreeText(kind);
  }
  return false;
}

// Makes one relation's plan; the relation's columns are looked through once per field.
class Planner {
 public:
  Planner(const capture::Relation& relation, const MappingOptions& options)
      : relation_(relation), options_(options), table_(relation.schema + "." + relation.name) {
    for (const capture::Column& column : relation.columns) {
      normalized_.push_back(NormalizedName(column.name));
    }
  }

  absl::StatusOr<FieldSource> SourceOf(const FieldInfo& info) const {
    FieldSource source;
    const std::string name(info.name);
    if (const auto constant = options_.constants.find(name); constant != options_.constants.end()) {
      source.constant = &constant->second;
      if (info.form == FieldForm::kInteger) source.integer = ParseInteger(constant->second);
      return source;
    }
    ASSIGN_OR_RETURN(const std::optional<std::size_t> column, ColumnOf(info));
    if (!column) {
      if (info.required) return Missing(info);
      if (info.field == Field::kAggregateType) source.constant = &relation_.name;
      return source;
    }
    source.column = *column;
    source.reader.emplace(relation_.columns[*column]);
    if (!Suits(info.form, source.reader->kind())) {
      // A column that only happens to have the name, and may have been added for something else.
      if (!info.required && !options_.columns.contains(name)) return FieldSource();
      return Unsuited(info, source.reader->column());
    }
    if (const auto names = options_.values.find(name); names != options_.values.end()) {
      source.names = &names->second;
    }
    return source;
  }

 private:
  absl::StatusOr<std::optional<std::size_t>> ColumnOf(const FieldInfo& info) const {
    const auto configured = options_.columns.find(std::string(info.name));
    if (configured == options_.columns.end()) return RecognizedColumn(info);
    if (configured->second.empty()) return std::optional<std::size_t>();
    const std::string& wanted = configured->second;
    for (std::size_t i = 0; i < relation_.columns.size(); ++i) {
      if (relation_.columns[i].name == wanted) return std::optional(i);
    }
    ASSIGN_OR_RETURN(const std::optional<std::size_t> column, Named(info, NormalizedName(wanted)));
    if (column) return column;
    return WithHint(absl::FailedPreconditionError(absl::StrCat("table ", table_, " has no column '",
                                                               wanted, "', which source.columns.",
                                                               ToAbsl(info.name), " names")),
                    absl::StrCat("set source.columns.", ToAbsl(info.name),
                                 " to a column of the table, or publish that column"));
  }

  absl::StatusOr<std::optional<std::size_t>> RecognizedColumn(const FieldInfo& info) const {
    for (const std::string_view synonym : info.synonyms) {
      if (synonym.empty()) continue;
      ASSIGN_OR_RETURN(const std::optional<std::size_t> column, Named(info, synonym));
      if (column) return column;
    }
    return std::optional<std::size_t>();
  }

  absl::StatusOr<std::optional<std::size_t>> Named(const FieldInfo& info,
                                                   std::string_view normalized) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < normalized_.size(); ++i) {
      if (normalized_[i] != normalized) continue;
      if (found) return Ambiguous(info, relation_.columns[*found], relation_.columns[i]);
      found = i;
    }
    return found;
  }

  absl::Status Missing(const FieldInfo& info) const {
    std::string looked_for;
    for (const std::string_view synonym : info.synonyms) {
      if (synonym.empty()) continue;
      absl::StrAppend(&looked_for, looked_for.empty() ? "" : " or ",
                      ToAbsl(synonym == NormalizedName(info.name) ? info.name : synonym));
    }
    const std::string_view name = info.name;
    std::string hint =
        absl::StrCat("set source.columns.", ToAbsl(name), " to the column that holds it");
    if (info.field != Field::kEventId) {
      absl::StrAppend(&hint, ", or source.constants.", ToAbsl(name),
                      " to one value for every event");
    }
    return WithHint(
        absl::FailedPreconditionError(absl::StrCat("table ", table_, " has no column for ",
                                                   ToAbsl(name), " (looked for ", looked_for, ")")),
        hint);
  }

  absl::Status Ambiguous(const FieldInfo& info, const capture::Column& one,
                         const capture::Column& other) const {
    return WithHint(
        absl::FailedPreconditionError(absl::StrCat("table ", table_, ": columns '", one.name,
                                                   "' and '", other.name, "' could both be ",
                                                   ToAbsl(info.name))),
        absl::StrCat("set source.columns.", ToAbsl(info.name), " to the one that is meant"));
  }

  absl::Status Unsuited(const FieldInfo& info, const capture::Column& column) const {
    const std::string_view name = info.name;
    return WithHint(absl::FailedPreconditionError(absl::StrCat("table ", table_, ": column '",
                                                               column.name, "' (", TypeName(column),
                                                               ") can't give ", ToAbsl(name))),
                    info.required
                        ? absl::StrCat("set source.columns.", ToAbsl(name), " to another column")
                        : absl::StrCat("set source.columns.", ToAbsl(name),
                                       " to another column, or to \"\" to do without"));
  }

  const capture::Relation& relation_;
  const MappingOptions& options_;
  std::string table_;
  std::vector<std::string> normalized_;
};

}  // namespace

absl::Status CheckMappingOptions(const MappingOptions& options) {
  for (const auto& [name, column] : options.columns) {
    const auto field = FindField(name);
    if (!field) return UnknownField("source.columns", name);
    if (column.empty() && InfoOf(*field).required) {
      return absl::InvalidArgumentError(
          absl::StrCat("source.columns.", name,
                       " is empty, and no event can do without it; name a column, or set "
                       "source.constants.",
                       name));
    }
    if (options.constants.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "source.columns.", name, " and source.constants.", name, " exclude each other"));
    }
  }
  for (const auto& [name, value] : options.constants) {
    const auto field = FindField(name);
    if (!field) return UnknownField("source.constants", name);
    RETURN_IF_ERROR(CheckConstant(InfoOf(*field), value));
  }
  for (const auto& [name, names] : options.values) {
    const auto field = FindField(name);
    if (!field) return UnknownField("source.values", name);
    if (InfoOf(*field).form != FieldForm::kText || *field == Field::kEventId) {
      return absl::InvalidArgumentError(absl::StrCat(
          "source.values.", name, ": only text fields other than event_id take names"));
    }
    for (const auto& [value, meaning] : names) {
      if (!IsValidUtf8(meaning) || meaning.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("source.values.", name, ": the name for a value is empty or isn't UTF-8"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<MappingPlan> MakeMappingPlan(std::shared_ptr<const capture::Relation> relation,
                                            const MappingOptions& options) {
  MappingPlan plan;
  plan.relation_name = relation->schema + "." + relation->name;
  const Planner planner(*relation, options);
  for (const FieldInfo& info : Fields()) {
    ASSIGN_OR_RETURN(plan.fields[static_cast<std::size_t>(info.field)], planner.SourceOf(info));
  }
  const FieldSource& traceparent = plan.source(Field::kTraceparent);
  plan.java_span_context =
      traceparent.reader &&
      NormalizedName(traceparent.reader->column().name) == "tracingspancontext";
  plan.relation = std::move(relation);
  return plan;
}

}  // namespace walpost::outbox
