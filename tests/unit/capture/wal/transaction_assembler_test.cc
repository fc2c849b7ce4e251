#include "capture/wal/transaction_assembler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/limits.h"
#include "status_is.h"
#include "wire.h"

namespace walpost::capture {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::Wire;

constexpr std::uint32_t kOutbox = 16384;
constexpr std::uint32_t kOther = 16385;

// A vocabulary for streams: each word is one message of the server.
class AssemblerTest : public ::testing::Test {
 protected:
  absl::StatusOr<bool> Send(const std::string& message) {
    OwnedFrame frame;
    frame.memory = {static_cast<char*>(std::malloc(message.size() + 1)), &std::free};
    frame.size = message.size();
    std::memcpy(frame.memory.get(), message.data(), message.size());
    const XLogData data{Lsn(), frame.bytes()};
    return assembler_.Add(data, std::move(frame));
  }
  absl::StatusOr<bool> Begin(std::uint64_t commit_lsn) {
    return Send(Wire().Byte('B').Int64(commit_lsn).Int64(0).Int32(7).bytes());
  }
  absl::StatusOr<bool> Commit(std::uint64_t commit_lsn, std::uint64_t end_lsn) {
    return Send(Wire().Byte('C').Byte(0).Int64(commit_lsn).Int64(end_lsn).Int64(0).bytes());
  }
  absl::StatusOr<bool> Describe(std::uint32_t oid, const char* name, int columns = 1) {
    Wire wire;
    wire.Byte('R').Int32(oid).Text("public").Text(name).Byte('d').Int16(
        static_cast<std::uint16_t>(columns));
    for (int i = 0; i < columns; ++i) wire.Byte(0).Text("c").Int32(25).Int32(0xFFFFFFFF);
    return Send(wire.bytes());
  }
  absl::StatusOr<bool> Insert(std::uint32_t oid, std::string_view value = "v") {
    return Send(Wire()
                    .Byte('I')
                    .Int32(oid)
                    .Byte('N')
                    .Int16(1)
                    .Byte('t')
                    .Int32(static_cast<std::uint32_t>(value.size()))
                    .Raw(value)
                    .bytes());
  }
  void MustBe(const absl::StatusOr<bool>& complete, bool expected) {
    ASSERT_TRUE(complete.ok()) << complete.status();
    ASSERT_EQ(*complete, expected);
  }
  Batch Take() {
    Batch batch;
    assembler_.Take(batch);
    return batch;
  }

  TransactionAssembler assembler_{{{"public", "outbox"}}, {"outbox"}};
};

TEST_F(AssemblerTest, ATransactionIsOneBatchReleasedAtItsEnd) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox"), false);
  MustBe(Insert(kOutbox, "first"), false);
  MustBe(Insert(kOutbox, "second"), false);
  MustBe(Commit(100, 148), true);
  const Batch batch = Take();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch.row(0).values[0].bytes, "first");
  EXPECT_EQ(batch.row(1).values[0].bytes, "second");
  EXPECT_EQ(batch.transaction.commit_lsn, Lsn(100));
  EXPECT_EQ(batch.transaction.xid, Xid(7));
  EXPECT_EQ(batch.first_index, 0U);
  EXPECT_EQ(batch.release, Position(148));  // End_lsn, not commit_lsn
}

TEST_F(AssemblerTest, OtherTablesAreCountedAndTheTransactionStillReleases) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOther, "neighbour"), false);
  MustBe(Insert(kOther), false);
  MustBe(Commit(100, 148), true);
  const Batch batch = Take();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.release, Position(148));
  EXPECT_EQ(assembler_.ignored_changes(), 1U);
}

TEST_F(AssemblerTest, ALargeTransactionTravelsInBoundedBatches) {
  constexpr std::size_t kRows = 2 * limits::kBatchRows + 3;
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox"), false);
  std::uint32_t expected_index = 0;
  std::size_t batches = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto complete = Insert(kOutbox);
    ASSERT_TRUE(complete.ok());
    if (!*complete) continue;
    const Batch batch = Take();
    EXPECT_EQ(batch.first_index, expected_index);
    EXPECT_EQ(batch.transaction.commit_lsn, Lsn(100));
    EXPECT_FALSE(batch.release.has_value());  // unknown before the commit
    expected_index += static_cast<std::uint32_t>(batch.size());
    ++batches;
  }
  EXPECT_EQ(batches, 2U);
  MustBe(Commit(100, 148), true);
  const Batch last = Take();
  EXPECT_EQ(last.size(), 3U);
  EXPECT_EQ(last.first_index, expected_index);
  EXPECT_EQ(last.release, Position(148));
}

TEST_F(AssemblerTest, LargeRowsBoundABatchByBytes) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox"), false);
  MustBe(Insert(kOutbox, std::string(limits::kBatchBytes, 'x')), true);
}

TEST_F(AssemblerTest, ABatchThatEndsWithTheTransactionLeavesAnEmptyRelease) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox"), false);
  for (std::size_t i = 1; i < limits::kBatchRows; ++i) MustBe(Insert(kOutbox), false);
  MustBe(Insert(kOutbox), true);
  EXPECT_EQ(Take().size(), limits::kBatchRows);
  MustBe(Commit(100, 148), true);
  const Batch last = Take();
  EXPECT_TRUE(last.empty());
  EXPECT_EQ(last.release, Position(148));
}

TEST_F(AssemblerTest, AKeepaliveBetweenTransactionsIsAnEmptyBatch) {
  EXPECT_TRUE(assembler_.Add(Keepalive{Lsn(500), false}));
  const Batch batch = Take();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.release, Position(500));  // Nothing is added
}

// Inside a transaction walEnd is that transaction's commit_lsn.
TEST_F(AssemblerTest, AKeepaliveInsideATransactionReleasesNothing) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox"), false);
  MustBe(Insert(kOutbox), false);
  EXPECT_FALSE(assembler_.Add(Keepalive{Lsn(100), true}));
  MustBe(Commit(100, 148), true);
  const Batch batch = Take();
  EXPECT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch.release, Position(148));
}

// A table may change between two rows of one transaction.
TEST_F(AssemblerTest, RowsAreReadByTheDescriptionThatPrecedesThem) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox", 1), false);
  MustBe(Insert(kOutbox), false);
  MustBe(Describe(kOutbox, "outbox", 2), false);
  EXPECT_THAT(Insert(kOutbox), StatusIs(absl::StatusCode::kDataLoss,
                                        HasSubstr("a row of 1 values for public.outbox of 2")));
}

TEST_F(AssemblerTest, ARenamedTableIsNoLongerTheOutbox) {
  MustBe(Begin(100), false);
  MustBe(Describe(kOutbox, "outbox"), false);
  MustBe(Insert(kOutbox), false);
  MustBe(Describe(kOutbox, "archive"), false);
  MustBe(Insert(kOutbox), false);
  MustBe(Commit(100, 148), true);
  EXPECT_EQ(Take().size(), 1U);
}

TEST_F(AssemblerTest, TheGrammarIsEnforced) {
  EXPECT_THAT(Commit(1, 2), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("commit outside")));
  MustBe(Describe(kOutbox, "outbox"), false);
  EXPECT_THAT(Insert(kOutbox), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("insert outside")));
  EXPECT_THAT(Send(Wire().Byte('T').Int32(0).Byte(0).bytes()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncate outside")));
  MustBe(Begin(100), false);
  EXPECT_THAT(Begin(200), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("inside another")));
  EXPECT_THAT(Insert(99), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not described")));
  EXPECT_THAT(Commit(101, 148),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("commits at 0/65")));
  EXPECT_THAT(Commit(100, 100), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ending at 0/64")));
  MustBe(Commit(100, 148), true);
  Take();
  EXPECT_THAT(Begin(100),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("follows one committed at 0/64")));
}

TEST_F(AssemblerTest, MessagesAndAbortsOutsideOfTransactionsAreHarmless) {
  MustBe(Send(Wire().Byte('M').Byte(0).Int64(5).Text("p").Int32(0).bytes()), false);
  MustBe(Send(Wire().Byte('A').Int32(1).Int32(1).bytes()), false);
  EXPECT_THAT(Send(Wire().Byte('M').Byte(1).Int64(5).Text("p").Int32(0).bytes()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("outside")));
}

}  // namespace
}  // namespace walpost::capture
