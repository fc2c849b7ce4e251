#include "harness/load.h"

#include <gtest/gtest.h>

#include <map>

namespace walpost::bench {
namespace {

TEST(EventId, LeadsBackToItsNumber) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{0xABCDEF012345}}) {
    EXPECT_EQ(NumberOfId(EventId(number)), number);
  }
}

TEST(EventId, OthersHaveNoNumber) {
  EXPECT_EQ(NumberOfId("3a0eebc9-9c0b-4ef8-bb6d-6bb9bd380a11"), std::nullopt);
  EXPECT_EQ(NumberOfId(""), std::nullopt);
  EXPECT_EQ(NumberOfId("00000000-0000-4000-8000-00000000000g"), std::nullopt);
}

TEST(NumberInValue, FindsItInAnEnvelopeAndInRawJson) {
  EXPECT_EQ(NumberInValue(R"({"seq": 4711, "text": "x"})"), 4711);
  EXPECT_EQ(NumberInValue(std::string("\x0a\x03\x00", 3) + R"({"text": "x", "seq": 7})"), 7);
}

TEST(NumberInValue, WhereThereIsNone) {
  EXPECT_EQ(NumberInValue("{}"), std::nullopt);
  EXPECT_EQ(NumberInValue(R"({"seq": "x"})"), std::nullopt);
}

// The order that is checked for a key is the order of numbers: so one writer has all of a key.
TEST(KeyOf, AKeyBelongsToOneWriter) {
  for (const int rows : {1, 5}) {
    const LoadShape shape{.rows_per_transaction = rows, .aggregates = 7, .writers = 3};
    std::map<std::int64_t, std::int64_t> writer_of;
    for (std::int64_t number = 0; number < 1000; ++number) {
      const std::int64_t writer = number / rows % shape.writers;
      const auto [known, added] = writer_of.try_emplace(KeyOf(shape, number), writer);
      EXPECT_EQ(known->second, writer);
    }
  }
}

}  // namespace
}  // namespace walpost::bench
