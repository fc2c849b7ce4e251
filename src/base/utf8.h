// UTF-8 validation. protobuf serializes invalid text without complaint and then can't parse it, so
// every text that comes from a row is checked first.
#pragma once

#include <string_view>

namespace walpost {

// True if `text` is well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
bool IsValidUtf8(std::string_view text);

}  // namespace walpost
