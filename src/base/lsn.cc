#include "base/lsn.h"

#include <charconv>

#include "absl/strings/str_format.h"

namespace walpost {
namespace {

std::optional<std::uint64_t> ParseHalf(std::string_view text) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::string FormatLsn(Lsn lsn) {
  return absl::StrFormat("%X/%X", lsn.value >> 32U, lsn.value & 0xFFFFFFFFU);
}

std::optional<Lsn> ParseLsn(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> high = ParseHalf(text.substr(0, slash));
  const std::optional<std::uint64_t> low = ParseHalf(text.substr(slash + 1));
  if (!high || !low) return std::nullopt;
  return Lsn((*high << 32U) | *low);
}

}  // namespace walpost
