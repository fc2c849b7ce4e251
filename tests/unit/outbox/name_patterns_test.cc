#include "outbox/name_patterns.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using ::testing::HasSubstr;

TEST(NamePatterns, MatchWholeNamesOnly) {
  auto patterns = NamePatterns::Make("key", {"x-.*", "tenant"}).value();
  EXPECT_TRUE(patterns.Matches("x-a"));
  EXPECT_TRUE(patterns.Matches("tenant"));
  EXPECT_FALSE(patterns.Matches("tenants"));
  EXPECT_FALSE(patterns.Matches("ax-a"));
  EXPECT_FALSE(patterns.Matches(""));
}

TEST(NamePatterns, WithoutPatternsNothingMatches) {
  auto patterns = NamePatterns::Make("key", {}).value();
  EXPECT_FALSE(patterns.Matches("x"));
}

TEST(NamePatterns, RememberTheirVerdictsWithoutEnd) {
  auto patterns = NamePatterns::Make("key", {"x.*"}).value();
  for (std::size_t i = 0; i < 3 * limits::kNameVerdicts; ++i) {
    ASSERT_TRUE(patterns.Matches("x" + std::to_string(i)));
    ASSERT_FALSE(patterns.Matches("y" + std::to_string(i)));
  }
}

TEST(NamePatterns, LongNamesNeverMatch) {
  auto patterns = NamePatterns::Make("key", {".*"}).value();
  EXPECT_TRUE(patterns.Matches(std::string(limits::kNameBytes, 'x')));
  EXPECT_FALSE(patterns.Matches(std::string(limits::kNameBytes + 1, 'x')));
}

TEST(NamePatterns, SayWhichPatternIsWrong) {
  EXPECT_THAT(NamePatterns::Make("routing.header_allowlist", {"ok", "[a"}),
              StatusIs(kInvalid, HasSubstr("routing.header_allowlist: '[a' isn't a regular")));
}

}  // namespace
}  // namespace walpost::outbox
