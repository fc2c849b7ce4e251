#include "outbox/message_headers.h"

#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "outbox/date_time.h"
#include "outbox/routing.h"

namespace walpost::outbox {
namespace {

constexpr std::array<std::string_view, kOwnHeaderCount> kNames = {
    "id",           "eventType",     "content-type",     "traceparent",   "tracestate",
    "walpost-lsn",  "aggregateType", "aggregateVersion", "schemaVersion", "occurredAt",
    "correlationId"};

constexpr std::string_view kReservedPrefixes[] = {"ce_", "__", "walpost-"};

bool HasReservedPrefix(std::string_view name) {
  for (const std::string_view prefix : kReservedPrefixes) {
    if (absl::StartsWithIgnoreCase(ToAbsl(name), ToAbsl(prefix))) return true;
  }
  return false;
}

// Consumers deduplicate, decode and order by these: no configuration may change what they mean.
bool IsFixed(std::string_view name) {
  return HasReservedPrefix(name) ||
         absl::EqualsIgnoreCase(ToAbsl(name), ToAbsl(NameOf(OwnHeader::kId))) ||
         absl::EqualsIgnoreCase(ToAbsl(name), ToAbsl(NameOf(OwnHeader::kContentType)));
}

std::string_view FormatInteger(std::int64_t number, std::string& out) {
  char digits[20];
  out.assign(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
  return out;
}

}  // namespace

std::string_view NameOf(OwnHeader header) { return kNames[static_cast<std::size_t>(header)]; }

bool IsReservedHeader(std::string_view name) {
  for (const std::string_view own : kNames) {
    if (absl::EqualsIgnoreCase(ToAbsl(name), ToAbsl(own))) return true;
  }
  return HasReservedPrefix(name);
}

absl::StatusOr<HeaderBuilder> HeaderBuilder::Make(
    const std::map<std::string, std::string>& configured,
    const std::vector<std::string>& allowlist) {
  HeaderBuilder builder;
  for (const auto& [name, field_name] : configured) {
    const std::string key = absl::StrCat("routing.headers.", name);
    if (name.empty() || IsFixed(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, ": this name is walpost's own and can't be given away"));
    }
    const auto field = FindField(field_name);
    if (!field || InfoOf(*field).form == FieldForm::kPayload ||
        InfoOf(*field).form == FieldForm::kHeaders) {
      return WithHint(absl::InvalidArgumentError(
                          absl::StrCat(key, ": '", field_name, "' isn't a field for a header")),
                      "fields are: " + FieldNames() + "; payload and headers can't be one header");
    }
    builder.configured_.emplace_back(name, *field);
    for (std::size_t i = 0; i < kOwnHeaderCount; ++i) {
      if (absl::EqualsIgnoreCase(ToAbsl(kNames[i]), name)) builder.replaced_.set(i);
    }
  }
  if (!allowlist.empty()) {
    ASSIGN_OR_RETURN(builder.allowlist_, NamePatterns::Make("routing.header_allowlist", allowlist));
  }
  return builder;
}

std::optional<std::string_view> HeaderBuilder::Value(const Event& event, Field field) {
  if (IsTextField(field)) return TextOf(event, field);
  if (field == Field::kAggregateVersion && event.aggregate_version) {
    return FormatInteger(*event.aggregate_version, aggregate_version_);
  }
  if (field == Field::kSchemaVersion && event.schema_version) {
    return FormatInteger(*event.schema_version, schema_version_);
  }
  if (field == Field::kOccurredAt && event.occurred_at) {
    occurred_at_.clear();
    AppendRfc3339(*event.occurred_at, occurred_at_);
    return std::string_view(occurred_at_);
  }
  return std::nullopt;
}

void HeaderBuilder::Add(OwnHeader header, std::string_view value) {
  if (replaced_.test(static_cast<std::size_t>(header))) return;
  headers_.push_back({NameOf(header), value});
}

void HeaderBuilder::AddField(OwnHeader header, const Event& event, Field field) {
  if (const auto value = Value(event, field)) Add(header, *value);
}

void HeaderBuilder::AddConfigured(const Event& event) {
  for (const auto& [name, field] : configured_) {
    if (const auto value = Value(event, field)) headers_.push_back({name, *value});
  }
}

bool HeaderBuilder::IsConfigured(std::string_view name) const {
  for (const auto& [configured, field] : configured_) {
    if (absl::EqualsIgnoreCase(configured, ToAbsl(name))) return true;
  }
  return false;
}

void HeaderBuilder::AddOfRow(const Event& event) {
  for (const MessageHeader& header : event.headers) {
    if (!allowlist_ || !allowlist_->Matches(header.name) || IsReservedHeader(header.name) ||
        IsConfigured(header.name)) {
      ++dropped_;
      continue;
    }
    headers_.push_back(header);
  }
}

std::span<const MessageHeader> HeaderBuilder::Build(const Event& event, const Origin& origin,
                                                    std::string_view content_type,
                                                    bool raw_payload) {
  headers_.clear();
  Add(OwnHeader::kId, event.event_id);
  Add(OwnHeader::kEventType, event.event_type);
  if (!content_type.empty()) Add(OwnHeader::kContentType, content_type);
  AddField(OwnHeader::kTraceparent, event, Field::kTraceparent);
  AddField(OwnHeader::kTracestate, event, Field::kTracestate);
  lsn_ = FormatPosition(origin.commit_lsn, origin.index);
  Add(OwnHeader::kLsn, TextOf(lsn_));
  if (raw_payload) {
    AddField(OwnHeader::kAggregateType, event, Field::kAggregateType);
    AddField(OwnHeader::kAggregateVersion, event, Field::kAggregateVersion);
    AddField(OwnHeader::kSchemaVersion, event, Field::kSchemaVersion);
    AddField(OwnHeader::kOccurredAt, event, Field::kOccurredAt);
    AddField(OwnHeader::kCorrelationId, event, Field::kCorrelationId);
  }
  AddConfigured(event);
  AddOfRow(event);
  return headers_;
}

}  // namespace walpost::outbox
