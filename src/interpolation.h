// References in the strings of a configuration file: ${VAR}, ${VAR:-default}, ${file:PATH}.
//
// $VAR without braces is left alone, and $${ stands for a literal ${. References may stand inside
// of others: ${file:${CREDENTIALS_DIRECTORY}/kafka}. What comes out is not expanded again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

using Environment = std::map<std::string, std::string, std::less<>>;

// Errors: kInvalidArgument: a variable that isn't set and has no default (an empty one is set), a
// file that can't be read, is empty, too large, or readable by every user of the host (what is
// worth a file of its own is a secret), or braces that don't match. The message never holds what a
// file contains.
//
// `escape`, if given, makes what a reference stands for fit behind what has come `before` it.
using Escape = std::string (*)(std::string_view before, std::string_view value);
absl::StatusOr<std::string> ExpandReferences(std::string_view text, const Environment& environment,
                                             Escape escape = nullptr);

}  // namespace walpost
