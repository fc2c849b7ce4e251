#include "sink/file/group_writer.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "support/status_is.h"

namespace walpost::sink::file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using walpost::testing::StatusIs;

// What the writer's thread writes, group by group; each waits until the test lets it go.
struct Gate {
  Mutex mutex;
  std::vector<std::string> groups ABSL_GUARDED_BY(mutex);
  int allowed ABSL_GUARDED_BY(mutex) = 0;
  bool fail ABSL_GUARDED_BY(mutex) = false;

  void Allow(int count) {
    const MutexLock lock(mutex);
    allowed += count;
  }
  void FailNext() {
    const MutexLock lock(mutex);
    fail = true;
    ++allowed;
  }
  void AwaitGroups(std::size_t count) {
    const MutexLock lock(mutex);
    const auto begun = [&]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return groups.size() >= count; };
    mutex.Await(begun);
  }
};

class GatedOutput final : public Output {
 public:
  explicit GatedOutput(Gate& gate) : gate_(gate) {}

  absl::Status Write(std::string_view bytes, int) override {
    const MutexLock lock(gate_.mutex);
    gate_.groups.emplace_back(bytes);
    const auto open = [this]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_.mutex) { return gate_.allowed > 0; };
    gate_.mutex.Await(open);
    --gate_.allowed;
    return gate_.fail ? Error(absl::StatusCode::kUnavailable, "disk is full") : absl::OkStatus();
  }

 private:
  Gate& gate_;
};

class GroupWriterTest : public ::testing::Test {
 protected:
  bool Add(std::uint64_t ticket, std::string_view record) {
    return writer_.Add(Ticket(ticket), record);
  }

  std::vector<std::uint64_t> AwaitTickets(std::size_t count) {
    while (receipts_.size() < count) {
      pollfd fd = {ready_.fd(), POLLIN, 0};
      if (poll(&fd, 1, 10'000) != 1) break;
      ready_.Clear();
      writer_.TakeReceipts(receipts_);
    }
    std::vector<std::uint64_t> tickets;
    for (const Receipt& receipt : receipts_) tickets.push_back(receipt.ticket.value);
    return tickets;
  }

  Gate gate_;
  EventFd ready_ = EventFd::Create().value();
  GroupWriter writer_{std::make_unique<GatedOutput>(gate_),
                      {.records = 3, .bytes = 100},
                      ready_,
                      EventFd::Create().value()};
  std::vector<Receipt> receipts_;
};

TEST_F(GroupWriterTest, WhatGathersWhileAGroupIsWrittenIsTheNextOne) {
  ASSERT_TRUE(Add(0, "a"));
  gate_.AwaitGroups(1);
  ASSERT_TRUE(Add(1, "b"));
  ASSERT_TRUE(Add(2, "c"));
  gate_.Allow(2);
  EXPECT_THAT(AwaitTickets(3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(writer_.empty());
  const MutexLock lock(gate_.mutex);
  EXPECT_THAT(gate_.groups, ElementsAre("a", "bc"));
}

TEST_F(GroupWriterTest, NothingIsReportedBeforeItIsWritten) {
  ASSERT_TRUE(Add(0, "a"));
  gate_.AwaitGroups(1);
  writer_.TakeReceipts(receipts_);
  EXPECT_TRUE(receipts_.empty());
  EXPECT_FALSE(writer_.empty());
  gate_.Allow(1);
  EXPECT_THAT(AwaitTickets(1), ElementsAre(0));
}

TEST_F(GroupWriterTest, IsFullByRecordsUntilAGroupIsDone) {
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(Add(i, "x"));
  EXPECT_FALSE(Add(3, "x"));
  gate_.Allow(3);
  AwaitTickets(3);
  EXPECT_TRUE(Add(3, "x"));
}

TEST_F(GroupWriterTest, IsFullByBytesAndTakesALargerRecordAlone) {
  ASSERT_TRUE(Add(0, std::string(500, 'x')));
  EXPECT_FALSE(Add(1, "x"));
  gate_.Allow(1);
  AwaitTickets(1);
  EXPECT_TRUE(Add(1, std::string(60, 'x')));
  EXPECT_FALSE(Add(2, std::string(41, 'x')));
  EXPECT_TRUE(Add(2, std::string(40, 'x')));
  gate_.Allow(2);
}

// A record written behind one that failed would be a gap for the reader.
TEST_F(GroupWriterTest, AFailureTakesEverythingBehindItAlong) {
  ASSERT_TRUE(Add(0, "a"));
  gate_.AwaitGroups(1);
  ASSERT_TRUE(Add(1, "b"));
  gate_.FailNext();
  EXPECT_THAT(AwaitTickets(2), ElementsAre(0, 1));
  for (const Receipt& receipt : receipts_) {
    EXPECT_THAT(receipt.status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  }
  EXPECT_THAT(writer_.failure(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  const MutexLock lock(gate_.mutex);
  EXPECT_THAT(gate_.groups, ElementsAre("a"));
}

}  // namespace
}  // namespace walpost::sink::file
