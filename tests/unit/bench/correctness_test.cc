#include "harness/correctness.h"

#include <gtest/gtest.h>

namespace walpost::bench {
namespace {

constexpr std::int64_t kKeys = 2;  // even and odd numbers

Deliveries Delivered(std::int64_t events, const std::vector<std::int64_t>& arrivals) {
  Deliveries deliveries;
  deliveries.sightings.resize(static_cast<std::size_t>(events));
  for (const std::int64_t number : arrivals) {
    Sighting& sighting = deliveries.sightings[static_cast<std::size_t>(number)];
    if (sighting.times++ == 0) deliveries.arrivals.push_back(number);
  }
  return deliveries;
}

Correctness CheckAll(const Deliveries& deliveries, bool at_rest) {
  return Check(
      deliveries, std::vector<bool>(deliveries.sightings.size(), true),
      [](std::int64_t number) { return number % kKeys; }, at_rest);
}

TEST(Check, AllInOrderIsRight) {
  const Correctness check = CheckAll(Delivered(4, {0, 1, 2, 3}), true);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.delivered, 4);
}

TEST(Check, KeysMayOvertakeEachOther) {
  EXPECT_TRUE(CheckAll(Delivered(4, {0, 2, 1, 3}), true).ok());
}

TEST(Check, AnOlderEventOfTheSameKeyIsOutOfOrder) {
  EXPECT_EQ(CheckAll(Delivered(4, {2, 0, 1, 3}), true).out_of_order, 1);
}

TEST(Check, AnotherDeliveryIsADuplicateAndNotOutOfOrder) {
  const Correctness check = CheckAll(Delivered(4, {0, 1, 2, 0, 1, 3}), true);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(check.duplicates, 2);
}

TEST(Check, WhatALaterOneOfItsKeyHasPassedIsLost) {
  const Correctness check = CheckAll(Delivered(6, {0, 1, 4}), false);
  EXPECT_EQ(check.lost, 1);    // 2
  EXPECT_EQ(check.behind, 2);  // 3 and 5
}

TEST(Check, AtRestAllThatIsMissingIsLost) {
  EXPECT_EQ(CheckAll(Delivered(6, {0, 1, 2, 3}), true).lost, 2);
  EXPECT_EQ(CheckAll(Delivered(6, {0, 1, 2, 3}), false).lost, 0);
}

TEST(Check, WhatWasNotCommittedIsAPhantom) {
  const Deliveries deliveries = Delivered(3, {0, 1, 2});
  const Correctness check = Check(
      deliveries, {true, false, true}, [](std::int64_t number) { return number; }, true);
  EXPECT_EQ(check.phantom, 1);
  EXPECT_FALSE(check.ok());
}

TEST(Check, AKeyInTwoPartitionsIsWrong) {
  Deliveries deliveries = Delivered(4, {0, 1, 2, 3});
  deliveries.sightings[2].partition = 1;
  EXPECT_EQ(CheckAll(deliveries, true).split, 1);
  EXPECT_FALSE(CheckAll(deliveries, true).ok());
}

TEST(Check, AStrangerIsAPhantom) {
  Deliveries deliveries = Delivered(1, {0});
  deliveries.strangers = 1;
  EXPECT_EQ(CheckAll(deliveries, true).phantom, 1);
}

}  // namespace
}  // namespace walpost::bench
