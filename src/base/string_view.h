// Debian builds Abseil with its own string_view, which doesn't convert to std's or back; elsewhere
// they are one type. Public interfaces of walpost use std::string_view and cross over here.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace walpost {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace walpost
