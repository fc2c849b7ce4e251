// The headers a message goes with: walpost's own, those the configuration adds, and those of the
// row that the configuration lets through.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/envelope.h"
#include "outbox/event.h"
#include "outbox/field.h"
#include "outbox/message.h"
#include "outbox/name_patterns.h"

namespace walpost::outbox {

// Walpost's own headers, in the order they are sent.
enum class OwnHeader : std::uint8_t {
  kId,           // "id": the event's id, where Debezium's consumers look for it
  kEventType,    // "eventType"
  kContentType,  // "content-type": of the record's value; not with a tombstone
  kTraceparent,  // "traceparent", "tracestate": where the event has them
  kTracestate,
  kLsn,  // "walpost-lsn": commit LSN and index as %016X-%08X; sorts as text in commit order
  // Only where the value is the raw payload, and where known:
  kAggregateType,     // "aggregateType"
  kAggregateVersion,  // "aggregateVersion"
  kSchemaVersion,     // "schemaVersion"
  kOccurredAt,        // "occurredAt": RFC 3339
  kCorrelationId,     // "correlationId"
};
inline constexpr std::size_t kOwnHeaderCount = 11;
std::string_view NameOf(OwnHeader header);

// Names that no header of a row may take, compared without regard to case: walpost's own, and those
// that begin with "ce_" (CloudEvents), "__" (schema ids) or "walpost-".
bool IsReservedHeader(std::string_view name);

// Thread: loop only.
class HeaderBuilder {
 public:
  // `configured`: header → field, routing.headers. `allowlist`: routing.header_allowlist.
  // Errors: kInvalidArgument names the key: an unknown field, or a name that can't be given away.
  static absl::StatusOr<HeaderBuilder> Make(const std::map<std::string, std::string>& configured,
                                            const std::vector<std::string>& allowlist);

  // `content_type`: of the value, "" for none. `raw_payload`: whether the value is the payload
  // alone. Valid until the next call, and as long as the event is.
  std::span<const MessageHeader> Build(const Event& event, const Origin& origin,
                                       std::string_view content_type, bool raw_payload);

  // Of rows, since the beginning: reserved, or not on the allow-list.
  std::uint64_t dropped() const { return dropped_; }

 private:
  HeaderBuilder() = default;

  void Add(OwnHeader header, std::string_view value);
  void AddField(OwnHeader header, const Event& event, Field field);
  void AddConfigured(const Event& event);
  void AddOfRow(const Event& event);
  bool IsConfigured(std::string_view name) const;
  std::optional<std::string_view> Value(const Event& event, Field field);

  std::vector<std::pair<std::string, Field>> configured_;
  std::bitset<kOwnHeaderCount> replaced_;  // own headers that a configured one stands for
  std::optional<NamePatterns> allowlist_;
  std::uint64_t dropped_ = 0;

  // What the headers view, beside the event.
  std::vector<MessageHeader> headers_;
  PositionText lsn_{};
  std::string aggregate_version_;
  std::string schema_version_;
  std::string occurred_at_;
};

}  // namespace walpost::outbox
