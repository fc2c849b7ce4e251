#include "outbox/dead_letter.h"

#include <gmock/gmock.h>

#include <map>

namespace walpost::outbox {
namespace {

using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::map<std::string, std::string> HeadersOf(const Message& message) {
  std::map<std::string, std::string> headers;
  for (const MessageHeader& header : message.headers) {
    EXPECT_TRUE(headers.emplace(header.name, header.value).second) << header.name << " twice";
  }
  return headers;
}

const Origin kOrigin{.database = "shop",
                     .relation = "public.outbox",
                     .commit_lsn = Lsn(0xAB),
                     .index = 2,
                     .committed_at = absl::FromUnixSeconds(5)};

class DeadLetterTest : public ::testing::Test {
 protected:
  DeadLetterBuilder builder_{"dead"};
  const MessageHeader headers_[2] = {{"id", "e1"}, {"walpost-lsn", "L"}};
  const Message meant_{
      .topic = "t", .key = "k", .value = "v", .headers = headers_, .timestamp = absl::Now()};
};

TEST_F(DeadLetterTest, WhatFitsKeepsKeyValueAndHeaders) {
  const Message message = builder_.Build(meant_, true, "e1", kOrigin, "why");
  EXPECT_EQ(message.topic, "dead");
  EXPECT_EQ(message.key, "k");
  EXPECT_EQ(message.value, "v");
  EXPECT_EQ(message.timestamp, absl::FromUnixSeconds(5));
  EXPECT_THAT(HeadersOf(message), UnorderedElementsAre(Pair("id", "e1"), Pair("walpost-lsn", "L"),
                                                       Pair("walpost-error", "why"),
                                                       Pair("walpost-source", "shop/public.outbox"),
                                                       Pair("walpost-topic", "t")));
}

// Never a tombstone: on a compacted topic that would delete something.
TEST_F(DeadLetterTest, WhatIsTooLargeLeavesAnEmptyValueAndItsName) {
  const Message message = builder_.Build(meant_, false, "e1", kOrigin, "why");
  EXPECT_FALSE(message.key.has_value());
  EXPECT_EQ(message.value, "");
  EXPECT_THAT(HeadersOf(message), IsSupersetOf({Pair("id", "e1"), Pair("walpost-topic", "t"),
                                                Pair("walpost-lsn", "00000000000000AB-00000002")}));
}

TEST_F(DeadLetterTest, WhatCouldNotBeBuiltHasPositionAndSource) {
  Origin origin = kOrigin;
  origin.relation = "";
  origin.message_prefix = "orders";
  const Message message = builder_.Build(std::nullopt, false, "", origin, std::string(5000, 'x'));
  EXPECT_EQ(message.value, "");
  EXPECT_THAT(HeadersOf(message),
              UnorderedElementsAre(Pair("walpost-lsn", "00000000000000AB-00000002"),
                                   Pair("walpost-error", std::string(1024, 'x')),
                                   Pair("walpost-source", "shop/message orders")));
}

}  // namespace
}  // namespace walpost::outbox
