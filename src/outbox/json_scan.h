// A look at JSON text without building anything: is it well-formed, and what are its top-level
// members.
//
// One pass, no allocation, no recursion. Written for one question per event: does a payload carry
// {"version": …, "data": …, "metadata": …}. RFC 8259; UTF-8 is the caller's to check.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace walpost::outbox {

enum class JsonShape { kMalformed, kObject, kArray, kScalar };

// Containers nested deeper than this count as malformed.
inline constexpr std::size_t kJsonDepth = 1024;

// Called for each member of a top-level object, in order: its name without the quotes (escapes as
// they stand) and the raw text of its value. Members come as they are met: what follows may be
// malformed.
using OnJsonMember = absl::FunctionRef<void(std::string_view name, std::string_view value)>;

JsonShape ScanJson(std::string_view text, OnJsonMember on_member);
JsonShape ScanJson(std::string_view text);

// `raw` (the inside of a JSON string, or a name from above) with its escapes undone; views `raw` if
// it has none, else what was appended to `out`. nullopt for half a surrogate pair and for what
// isn't an escape. What is appended is never longer than `raw`.
std::optional<std::string_view> UnescapeJson(std::string_view raw, std::string& out);

// Appends `text` (valid UTF-8) as a JSON string, with its quotes.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace walpost::outbox
