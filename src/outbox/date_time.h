// Postgres's timestamps and dates: from and to the text it prints with DateStyle ISO and TimeZone
// UTC.
//
// A timestamp is microseconds since 2000-01-01 00:00 UTC, a date is days since then, as on the
// wire; the largest and smallest numbers stand for infinity and -infinity.
//
//   timestamptz  2026-03-01 10:34:56.123456+00   no zeros at the end of the fraction; no T
//   timestamp    2026-03-01 10:34:56
//   date         2026-03-01                      " BC" follows for years before 1; more digits
//   after 9999
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace walpost::outbox {

// Parsing: nullopt for anything but such text. Any offset is taken, +HH[:MM[:SS]].
std::optional<std::int64_t> ParseTimestamptz(std::string_view text);
std::optional<std::int64_t> ParseTimestamp(std::string_view text);
std::optional<std::int32_t> ParseDate(std::string_view text);

// Formatting: appends.
void AppendTimestamptz(std::int64_t microseconds, std::string& out);
void AppendTimestamp(std::int64_t microseconds, std::string& out);
void AppendDate(std::int32_t days, std::string& out);

// Infinities stay infinities.
absl::Time TimestampToTime(std::int64_t microseconds);
absl::Time DateToTime(std::int32_t days);

// RFC 3339 in UTC with a fraction of 0, 3, 6 or 9 digits: as protobuf's JSON prints a Timestamp.
// Requires: within the years 1 to 9999.
void AppendRfc3339(absl::Time time, std::string& out);

// Within the years 1 to 9999, where protobuf's Timestamp and RFC 3339 end.
bool IsInCommonEra(absl::Time time);

}  // namespace walpost::outbox
