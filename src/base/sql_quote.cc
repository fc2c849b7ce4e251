#include "base/sql_quote.h"

namespace walpost {
namespace {

std::string Doubled(std::string_view text, std::string_view which, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (which.find(c) != std::string_view::npos) out += c;
    out += c;
  }
  return out + quote;
}

}  // namespace

std::string QuoteIdentifier(std::string_view name) { return Doubled(name, "\"", '"'); }

std::string QuoteTable(std::string_view schema, std::string_view name) {
  return QuoteIdentifier(schema) + "." + QuoteIdentifier(name);
}

std::string QuoteLiteral(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return Doubled(text, "'", '\'');
  return "E" + Doubled(text, "'\\", '\'');
}

}  // namespace walpost
