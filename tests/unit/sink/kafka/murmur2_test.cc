#include "sink/kafka/murmur2.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost::sink::kafka {
namespace {

// From the tests of Kafka's Java client.
TEST(Murmur2, GivesWhatJavaGives) {
  EXPECT_EQ(Murmur2("21"), -973932308);
  EXPECT_EQ(Murmur2("foobar"), -790332482);
  EXPECT_EQ(Murmur2("a-little-bit-long-string"), -985981536);
  EXPECT_EQ(Murmur2("a-little-bit-longer-string"), -1486304829);
  EXPECT_EQ(Murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"), -58897971);
  EXPECT_EQ(Murmur2("abc"), 479470107);
}

TEST(Murmur2, TakesBytesAsUnsigned) {
  // Sign extension of a tail byte would set the bits above it.
  EXPECT_NE(Murmur2("\x80"), Murmur2(std::string("\x80\xff\xff", 3)));
  EXPECT_EQ(Murmur2("\xff\xfe\xfd"), Murmur2(std::string("\xff\xfe\xfd\x00", 3)));
}

TEST(Murmur2, EmptyKeyIsAKeyWithAFixedPartition) {
  EXPECT_EQ(Murmur2(""), 275646681);
  EXPECT_EQ(PartitionOf("", 12), 275646681 % 12);
  EXPECT_EQ(PartitionOf(std::string_view(), 12), PartitionOf("", 12));
}

TEST(Murmur2, APartitionIsAlwaysInRange) {
  for (int partitions = 1; partitions < 40; ++partitions) {
    for (int key = 0; key < 500; ++key) {
      const std::int32_t partition = PartitionOf(std::to_string(key), partitions);
      EXPECT_GE(partition, 0);
      EXPECT_LT(partition, partitions);
    }
  }
}

TEST(Murmur2, ANegativeHashLosesItsSignBitOnly) {
  // toPositive is a mask, not an absolute value.
  EXPECT_EQ(PartitionOf("21", 7), (-973932308 & 0x7fffffff) % 7);
}

}  // namespace
}  // namespace walpost::sink::kafka
