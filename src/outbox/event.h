// One outbox event, whatever it came from: what the columns of a row (or a logical message) mean.
//
// All text and bytes view memory of the batch that holds the row, of the Mapper, or of its
// options; valid until that Mapper maps the next row and only while the batch is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/time/time.h"
#include "outbox/message.h"

namespace walpost::outbox {

struct Event {
  std::string_view event_id;        // never empty
  std::string_view event_type;      // never empty
  std::string_view aggregate_type;  // never empty
  std::optional<std::string_view> aggregate_id;
  std::optional<std::int64_t> aggregate_version;
  std::optional<std::int32_t> schema_version;  // of the payload
  std::optional<std::string_view> payload;     // any bytes; all else is valid UTF-8
  std::string_view content_type;               // of the payload
  std::optional<absl::Time> occurred_at;       // within the years 1 to 9999
  std::span<const MessageHeader> headers;      // those of the row, in its order
  std::string_view correlation_id;             // these four: empty if there is none
  std::string_view causation_id;
  std::string_view traceparent;
  std::string_view tracestate;
};

// As much of an event's id as a message should show: whole characters, at most 200 bytes.
std::string_view ShownId(std::string_view event_id);

}  // namespace walpost::outbox
