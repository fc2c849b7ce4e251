// Quoting for SQL that is printed as well as run: always quoted, so that no list of keywords
// matters. Where a session exists and the text isn't shown, use the session's own.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// "my ""table""". Requires: no NUL in `name`.
std::string QuoteIdentifier(std::string_view name);
std::string QuoteTable(std::string_view schema, std::string_view name);

// 'it''s', valid whatever standard_conforming_strings says. Requires: UTF-8 as client encoding, no
// NUL.
std::string QuoteLiteral(std::string_view text);

}  // namespace walpost
