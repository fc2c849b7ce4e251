#include "outbox/date_time.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

// Postgres's own texts for binary values are in value_test.cc.

namespace walpost::outbox {
namespace {

std::string Rfc3339(absl::Time time) {
  std::string text;
  AppendRfc3339(time, text);
  return text;
}

TEST(DateTime, EveryDayOfEightCenturiesAgreesWithAbseil) {
  absl::CivilDay day(1700, 1, 1);
  for (std::int32_t days = ParseDate("1700-01-01").value(); day < absl::CivilDay(2500, 1, 1);
       ++day, ++days) {
    std::string text;
    AppendDate(days, text);
    ASSERT_EQ(text, absl::FormatCivilTime(day));
    ASSERT_EQ(ParseDate(text), days);
    ASSERT_EQ(DateToTime(days), absl::FromCivil(day, absl::UTCTimeZone()));
  }
}

TEST(DateTime, ExtremesSurviveTheRoundTrip) {
  // The infinities, and the first and last instant that Postgres takes.
  for (const std::int64_t microseconds :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-211813488000000000},
        std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{9223371331199999999},
        std::numeric_limits<std::int64_t>::max()}) {
    std::string text;
    AppendTimestamptz(microseconds, text);
    EXPECT_EQ(ParseTimestamptz(text), microseconds) << text;
  }
  for (const std::int32_t days :
       {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    std::string text;
    AppendDate(days, text);
    EXPECT_EQ(ParseDate(text), days) << text;
  }
}

TEST(DateTime, Rfc3339HasNoneThreeSixOrNineDecimals) {
  const absl::Time time = absl::FromUnixSeconds(1772361296);
  EXPECT_EQ(Rfc3339(time), "2026-03-01T10:34:56Z");
  EXPECT_EQ(Rfc3339(time + absl::Milliseconds(120)), "2026-03-01T10:34:56.120Z");
  EXPECT_EQ(Rfc3339(time + absl::Microseconds(5)), "2026-03-01T10:34:56.000005Z");
  EXPECT_EQ(Rfc3339(time + absl::Nanoseconds(5)), "2026-03-01T10:34:56.000000005Z");
  EXPECT_EQ(Rfc3339(absl::FromUnixMillis(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(DateTime, TheCommonEraEndsWhereProtobufDoes) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  const absl::Time first = absl::FromCivil(absl::CivilSecond(1, 1, 1), utc);
  const absl::Time end = absl::FromCivil(absl::CivilSecond(10000, 1, 1), utc);
  EXPECT_TRUE(IsInCommonEra(first));
  EXPECT_FALSE(IsInCommonEra(first - absl::Nanoseconds(1)));
  EXPECT_TRUE(IsInCommonEra(end - absl::Nanoseconds(1)));
  EXPECT_FALSE(IsInCommonEra(end));
  EXPECT_FALSE(IsInCommonEra(absl::InfinitePast()));
  EXPECT_EQ(Rfc3339(first), "0001-01-01T00:00:00Z");
}

}  // namespace
}  // namespace walpost::outbox
