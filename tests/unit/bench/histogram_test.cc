#include "harness/histogram.h"

#include <gtest/gtest.h>

#include <random>

namespace walpost::bench {
namespace {

TEST(Histogram, EmptyHasZeros) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.Percentile(0.5), 0);
  EXPECT_EQ(histogram.max(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (int value = 1; value <= 100; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0.5), 50);
  EXPECT_EQ(histogram.Percentile(0.99), 99);
  EXPECT_EQ(histogram.Percentile(1), 100);
}

TEST(Histogram, EveryValueIsKnownToATenthOfAPercent) {
  std::mt19937_64 random(1);
  for (int bit = 0; bit < 40; ++bit) {
    for (int i = 0; i < 20; ++i) {
      const auto value = static_cast<std::int64_t>((1ULL << bit) + random() % (1ULL << bit));
      Histogram histogram;
      histogram.Record(value);
      histogram.Record(value * 2);  // So that the first isn't the maximum.
      const std::int64_t found = histogram.Percentile(0.5);
      EXPECT_LE(found, value);
      EXPECT_GE(static_cast<double>(found), static_cast<double>(value) * 0.999);
    }
  }
}

TEST(Histogram, NegativeCountsAsZeroAndHugeAsTheLargest) {
  Histogram histogram;
  histogram.Record(-5);
  histogram.Record(std::int64_t{1} << 60);
  EXPECT_EQ(histogram.Percentile(0.5), 0);
  EXPECT_EQ(histogram.max(), (std::int64_t{1} << 40) - 1);
}

TEST(Histogram, MergedIsAsIfRecordedTogether) {
  std::mt19937_64 random(2);
  Histogram first;
  Histogram second;
  Histogram both;
  for (int i = 0; i < 5000; ++i) {
    const auto value = static_cast<std::int64_t>(random() % 10'000'000);
    (i % 3 == 0 ? first : second).Record(value);
    both.Record(value);
  }
  first.Merge(second);
  EXPECT_EQ(first.ToJson(), both.ToJson());
}

TEST(Histogram, JsonBringsItBack) {
  Histogram histogram;
  for (const std::int64_t value : {0, 3, 2047, 2048, 5'000'000}) histogram.Record(value);
  EXPECT_EQ(Histogram::FromJson(histogram.ToJson()).ToJson(), histogram.ToJson());
}

TEST(Median, OfOddAndEvenNumbers) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace walpost::bench
