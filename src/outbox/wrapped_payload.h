// Payloads that carry their own version and metadata:
//
//   {"version": 1, "data": …, "metadata": {"correlation_id": "…", "causation_id": "…"}}
//
// "version" (a whole number of 32 bits) and "data" make the form; "metadata" may be absent or null.
// In metadata, correlationId and causationId are known too. Anything else, and any other JSON, is
// no such payload and gives nothing. Of members named twice the last counts, as in jsonb.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "outbox/json_scan.h"

namespace walpost::outbox {

struct WrappedPayload {
  std::optional<std::int32_t> version;  // none: not of this form
  // Insides of JSON strings, escapes as they stand; view the payload. Empty if there is none.
  std::string_view correlation_id;
  std::string_view causation_id;
};

// Reads `json`, and says what it is as a whole.
JsonShape ReadWrappedPayload(std::string_view json, WrappedPayload& payload);

// False if `json` can't be a wrapped payload: a quick look that saves the reading of most others.
bool MayBeWrapped(std::string_view json);

}  // namespace walpost::outbox
