#include "base/lsn.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace walpost {
namespace {

TEST(LsnTest, PrintsAndReadsAsPostgresDoes) {
  struct Case {
    std::uint64_t value;
    const char* text;
  };
  const Case cases[] = {
      {0, "0/0"},
      {0x16B3748, "0/16B3748"},
      {0xFFFFFFFF, "0/FFFFFFFF"},
      {0x100000000, "1/0"},
      {0x16B374D848, "16/B374D848"},
      {0x8000000000000000, "80000000/0"},
      {std::numeric_limits<std::uint64_t>::max(), "FFFFFFFF/FFFFFFFF"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(FormatLsn(Lsn(c.value)), c.text);
    EXPECT_EQ(ParseLsn(c.text), Lsn(c.value)) << c.text;
  }
}

TEST(LsnTest, ReadsEitherCaseAndLeadingZeros) {
  EXPECT_EQ(ParseLsn("ff/0a"), Lsn(0xFF0000000A));
  EXPECT_EQ(ParseLsn("00000001/00000000"), Lsn(0x100000000));
}

TEST(LsnTest, RefusesEverythingElse) {
  for (const char* text : {"", "/", "0", "0/", "/0", "0/0/0", "0/0 ", " 0/0", "0/-1", "+1/0",
                           "0x1/0", "G/0", "123456789/0", "0/123456789"}) {
    EXPECT_EQ(ParseLsn(text), std::nullopt) << text;
  }
}

TEST(LsnTest, ComparesAsUnsigned) {
  EXPECT_LT(Lsn(1), Lsn(0x8000000000000000));
  EXPECT_GT(Lsn(0x100000000), Lsn(0xFFFFFFFF));
}

TEST(LsnTest, KindsOfNumbersDoNotMix) {
  static_assert(!std::is_convertible_v<std::uint64_t, Lsn>);
  static_assert(!std::is_convertible_v<Lsn, std::uint64_t>);
  static_assert(!std::is_convertible_v<Lsn, Position>);
  static_assert(!std::is_constructible_v<Position, Lsn>);
}

}  // namespace
}  // namespace walpost
