#include "sink/kafka/topic_table.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "base/limits.h"
#include "sink/kafka/murmur2.h"
#include "support/status_is.h"

namespace walpost::sink::kafka {
namespace {

using ::testing::HasSubstr;
using walpost::testing::StatusIs;

constexpr MonotonicTime kStart(1);

TEST(Partition, TakesOneMessageUntilTheFirstAcknowledgement) {
  Partition partition;
  EXPECT_TRUE(partition.HasRoom());
  partition.Accepted();
  EXPECT_FALSE(partition.HasRoom());
  partition.Proven(kStart);
  partition.Accepted();
  EXPECT_TRUE(partition.HasRoom());
}

TEST(Partition, IsNewAgainAfterALongSilence) {
  Partition partition;
  partition.Proven(kStart);
  partition.ForgetOldProof(kStart + limits::kPartitionProof);
  EXPECT_TRUE(partition.proven);
  partition.ForgetOldProof(kStart + limits::kPartitionProof + absl::Seconds(1));
  EXPECT_FALSE(partition.proven);
}

TEST(Partition, OnlyAMessageThatNeverHadCompanyIsAlone) {
  Partition partition;
  partition.Proven(kStart);
  partition.Accepted();
  EXPECT_TRUE(partition.alone);
  partition.Accepted();
  EXPECT_FALSE(partition.alone);
  --partition.outstanding;
  partition.Accepted();  // the second may be in a batch with this one
  EXPECT_FALSE(partition.alone);
}

TEST(Topic, AKeyHasOnePartition) {
  Topic topic;
  topic.partitions.resize(6);
  EXPECT_EQ(topic.PartitionFor("foobar"), PartitionOf("foobar", 6));
  EXPECT_EQ(topic.PartitionFor(std::string_view()), PartitionOf("", 6));
}

TEST(Topic, MessagesWithoutAKeyTakeTurnsInRuns) {
  Topic topic;
  topic.partitions.resize(3);
  std::set<std::int32_t> used;
  std::int32_t changes = 0;
  std::int32_t last = 0;
  for (; topic.keyless < 6 * limits::kKeylessRun; ++topic.keyless) {
    const std::int32_t partition = topic.PartitionFor(std::nullopt);
    used.insert(partition);
    changes += partition != last;
    last = partition;
  }
  EXPECT_EQ(used, (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(changes, 5);
}

TEST(TopicTable, FindsWhatWasOpened) {
  char text[256];
  const ProducerHandle producer(
      rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text, sizeof text));
  ASSERT_NE(producer, nullptr) << text;
  TopicTable table(producer.get());
  EXPECT_EQ(table.Find("a"), nullptr);
  const auto a = table.Open("a");
  const auto b = table.Open("b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(table.Find("a"), *a);
  EXPECT_EQ(table.Find("b"), *b);
  EXPECT_EQ(table.Find("a"), *a);
  EXPECT_EQ(TopicTable::Of((*a)->handle.get()), *a);
  EXPECT_THAT(table.Open("no topic"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'no topic'")));
}

}  // namespace
}  // namespace walpost::sink::kafka
