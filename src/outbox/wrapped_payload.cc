#include "outbox/wrapped_payload.h"

#include <charconv>

namespace walpost::outbox {
namespace {

std::optional<std::int32_t> WholeNumber(std::string_view text) {
  std::int32_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

// The inside of a JSON string; empty for other values.
std::string_view InsideOfString(std::string_view value) {
  return value.front() == '"' ? value.substr(1, value.size() - 2) : std::string_view();
}

}  // namespace

// By its rarest letter: a search for the whole word takes three times as long on usual payloads.
bool MayBeWrapped(std::string_view json) {
  constexpr std::string_view kVersion = "\"version\"";
  for (std::size_t at = json.find('v'); at != std::string_view::npos; at = json.find('v', at + 1)) {
    if (at > 0 && json.compare(at - 1, kVersion.size(), kVersion) == 0) return true;
  }
  return false;
}

JsonShape ReadWrappedPayload(std::string_view json, WrappedPayload& payload) {
  payload = {};
  std::string_view version;
  std::string_view data;
  std::string_view metadata;
  const JsonShape shape = ScanJson(json, [&](std::string_view name, std::string_view value) {
    if (name == "version") version = value;
    if (name == "data") data = value;
    if (name == "metadata") metadata = value;
  });
  const bool has_metadata = !metadata.empty() && metadata != "null";
  if (shape != JsonShape::kObject || version.empty() || data.empty() ||
      (has_metadata && metadata.front() != '{')) {
    return shape;
  }
  payload.version = WholeNumber(version);
  if (!payload.version || !has_metadata) return shape;
  ScanJson(metadata, [&payload](std::string_view name, std::string_view value) {
    if (name == "correlation_id" || name == "correlationId") {
      payload.correlation_id = InsideOfString(value);
    } else if (name == "causation_id" || name == "causationId") {
      payload.causation_id = InsideOfString(value);
    }
  });
  return shape;
}

}  // namespace walpost::outbox
