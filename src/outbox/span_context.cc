#include "outbox/span_context.h"

namespace walpost::outbox {
namespace {

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\f");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\f") - first + 1);
}

// Java escapes ':', '=', '#', '!' and leading blanks when it stores properties.
std::string_view Unescaped(std::string_view text, std::string& scratch) {
  if (text.find('\\') == std::string_view::npos) return text;
  scratch.clear();
  bool escaped = false;
  for (const char c : text) {
    if (c == '\\' && !escaped) {
      escaped = true;
      continue;
    }
    scratch += c;
    escaped = false;
  }
  return scratch;
}

}  // namespace

std::string_view PropertyOf(std::string_view properties, std::string_view key,
                            std::string& scratch) {
  while (!properties.empty()) {
    const std::size_t end = properties.find('\n');
    const std::string_view line = properties.substr(0, end);
    properties.remove_prefix(end == std::string_view::npos ? properties.size() : end + 1);
    const std::size_t separator = line.find_first_of("=:");
    if (separator == std::string_view::npos || Trimmed(line.substr(0, separator)) != key) continue;
    return Unescaped(Trimmed(line.substr(separator + 1)), scratch);
  }
  return {};
}

}  // namespace walpost::outbox
