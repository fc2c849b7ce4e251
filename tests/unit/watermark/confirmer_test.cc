#include "watermark/confirmer.h"

#include <gtest/gtest.h>

namespace walpost::watermark {
namespace {

using capture::Identity;
using capture::Transaction;

const Identity kHere{42, 1, "shop"};

Transaction At(std::uint64_t commit_lsn) {
  return {Lsn(commit_lsn), Xid(static_cast<std::uint32_t>(commit_lsn)), absl::FromUnixSeconds(1)};
}

class ConfirmerTest : public ::testing::Test {
 protected:
  ConfirmerTest() { confirmer_.BeginSession(kHere, Lsn(10'000)); }
  Confirmer confirmer_;
};

TEST_F(ConfirmerTest, OnlyARiseIsConfirmed) {
  EXPECT_EQ(confirmer_.Advance(std::nullopt), std::nullopt);
  EXPECT_EQ(confirmer_.Advance(Position(148)), Position(148));
  EXPECT_EQ(confirmer_.Advance(Position(148)), std::nullopt);
  EXPECT_EQ(confirmer_.Advance(Position(140)), std::nullopt);
  EXPECT_EQ(confirmer_.Advance(Position(248)), Position(248));
}

TEST_F(ConfirmerTest, AReplayPassesOverWholeTransactions) {
  confirmer_.Advance(Position(148));  // the end of the one committed at 100
  confirmer_.BeginSession(kHere, Lsn(10'000));
  EXPECT_TRUE(confirmer_.Delivered(At(100), 5));
  EXPECT_FALSE(confirmer_.Delivered(At(148), 0));  // begins where the release ends
  EXPECT_FALSE(confirmer_.Delivered(At(200), 0));
}

// A transaction cut at row 3 comes again whole, with the same identity.
TEST_F(ConfirmerTest, AReplayPassesOverTheDeliveredRowsOfACutTransaction) {
  confirmer_.EndSession(At(200), 3);
  confirmer_.BeginSession(kHere, Lsn(10'000));
  EXPECT_TRUE(confirmer_.Delivered(At(150), 9));
  EXPECT_TRUE(confirmer_.Delivered(At(200), 2));
  EXPECT_FALSE(confirmer_.Delivered(At(200), 3));
  Transaction other = At(200);
  other.xid = Xid(9);
  EXPECT_FALSE(confirmer_.Delivered(other, 0));
}

// Two crashes in a row: the second session is cut before it got as far as the first.
TEST_F(ConfirmerTest, AnEarlierCutDoesNotForgetALaterOne) {
  confirmer_.EndSession(At(200), 3);
  confirmer_.BeginSession(kHere, Lsn(10'000));
  confirmer_.EndSession(At(150), 1);
  confirmer_.BeginSession(kHere, Lsn(10'000));
  EXPECT_TRUE(confirmer_.Delivered(At(200), 2));
  confirmer_.EndSession(At(200), 1);
  confirmer_.BeginSession(kHere, Lsn(10'000));
  EXPECT_TRUE(confirmer_.Delivered(At(200), 2));
}

TEST_F(ConfirmerTest, AReplayedSessionConfirmsAgainFromBelow) {
  confirmer_.Advance(Position(500));
  confirmer_.BeginSession(kHere, Lsn(10'000));
  EXPECT_EQ(confirmer_.Advance(Position(148)), Position(148));  // the server's position went back
  EXPECT_TRUE(confirmer_.Delivered(At(400), 0));                // and nothing is forgotten
}

// Positions mean nothing on another system or timeline, or on an older copy of the data.
TEST_F(ConfirmerTest, AnotherHistoryForgetsEverything) {
  const Identity elsewhere[] = {{43, 1, "shop"}, {42, 2, "shop"}, {42, 1, "other"}};
  for (const Identity& identity : elsewhere) {
    Confirmer confirmer;
    confirmer.BeginSession(kHere, Lsn(10'000));
    confirmer.Advance(Position(500));
    confirmer.EndSession(At(600), 1);
    confirmer.BeginSession(identity, Lsn(10'000));
    EXPECT_FALSE(confirmer.Delivered(At(400), 0));
    EXPECT_FALSE(confirmer.Delivered(At(600), 0));
  }
  confirmer_.Advance(Position(500));
  confirmer_.BeginSession(kHere, Lsn(499));
  EXPECT_FALSE(confirmer_.Delivered(At(400), 0));
}

}  // namespace
}  // namespace walpost::watermark
