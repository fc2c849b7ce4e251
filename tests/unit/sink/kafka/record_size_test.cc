#include "sink/kafka/record_size.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost::sink::kafka {
namespace {

// tests/conformance holds it against a real broker's limit.
TEST(BatchSizeOf, IsTheSumOfItsParts) {
  EXPECT_EQ(BatchSizeOf({.topic = "t", .key = std::nullopt, .value = std::nullopt}), 61U + 1 + 6);
  EXPECT_EQ(BatchSizeOf({.topic = "t", .key = "k", .value = "v"}), 61U + 1 + 8);
  const outbox::MessageHeader headers[] = {{"id", "e1"}};
  EXPECT_EQ(BatchSizeOf({.topic = "t", .key = "k", .value = "v", .headers = headers}),
            61U + 1 + 8 + 6);
}

TEST(BatchSizeOf, LengthsGrowBySevenBits) {
  const auto size = [](std::size_t value) {
    const std::string text(value, 'x');
    return BatchSizeOf({.topic = "t", .key = std::nullopt, .value = text});
  };
  EXPECT_EQ(size(64) - size(63), 1U + 1);  // the value's length
  EXPECT_EQ(size(8192) - size(8191), 1U + 1);
  EXPECT_EQ(size(1'048'576), 61U + 4 + 3 + 1 + 4 + 1'048'576 + 1);
}

}  // namespace
}  // namespace walpost::sink::kafka
