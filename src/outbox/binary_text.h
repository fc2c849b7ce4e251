// The wire forms of numeric and text[] turned into what Postgres prints for them.
//
//   numeric  Int16 digits · Int16 weight (of the first digit, powers of 10000) · UInt16 sign ·
//            Int16 dscale (decimals shown) · digits × Int16, each 0 to 9999
//            sign: 0 plus · 4000 minus · C000 NaN · D000 Infinity · F000 -Infinity
//   array    Int32 dimensions (0 to 6) · Int32 has-null flag · UInt32 element type ·
//            dimensions × (Int32 size · Int32 lower bound) ·
//            elements, the last dimension fastest × (Int32 length, -1 null · bytes)
#pragma once

#include <string>
#include <string_view>

namespace walpost::outbox {

// Both append to `out` and return whether `bytes` is well-formed; if not, what was appended is of
// no use. Text inside an array isn't checked for UTF-8.
bool AppendNumeric(std::string_view bytes, std::string& out);
bool AppendTextArray(std::string_view bytes, std::string& out);

}  // namespace walpost::outbox
