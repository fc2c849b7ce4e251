// What every sink must do. A new sink adds its line at the end.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "session.h"
#include "subject.h"
#include "support/status_is.h"

namespace walpost::sink {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

constexpr std::int64_t kTime = 1'700'000'000'123;

class SinkTest : public ::testing::TestWithParam<MakeSubject> {
 protected:
  SinkTest() : subject_(GetParam()()) {}
  void SetUp() override {
    if (const std::string reason = subject_->skip_reason(); !reason.empty()) GTEST_SKIP() << reason;
  }

  Session Open(int window = 1000) { return Session(subject_->Open(window)); }
  static Record Numbered(int number, int keys = 7) {
    return {absl::StrCat("key-", number % keys), absl::StrCat(number), {}, kTime};
  }
  absl::Status Submit(Session& session, const Record& record) {
    return session.Submit(subject_->topic(), record);
  }

  std::unique_ptr<Subject> subject_;
};

// Of the sinks that keep what they get, and so can be full and be read back.
class KeepingSinkTest : public SinkTest {};

// Catches: a receipt lost in the sink (the slot would never move again), or given twice (the
// tracker would confirm what is still outstanding).
TEST_P(SinkTest, EveryAcceptedMessageGetsExactlyOneReceipt) {
  Session session = Open(50);
  for (int i = 0; i < 2000; ++i) ASSERT_THAT(Submit(session, Numbered(i)), IsOk());
  ASSERT_TRUE(session.Settle());
  EXPECT_EQ(session.delivered(), 2000U);
}

// Catches: a message that was kept in spite of kFull. It would come twice, and its first receipt
// would confirm the second.
TEST_P(KeepingSinkTest, AFullSinkTakesNothing) {
  Session session = Open(20);
  ASSERT_THAT(Submit(session, Numbered(0)), IsOk());
  int refused = 0;
  for (int i = 1; i < 3000; ++i) {
    const auto admission = session.Offer(subject_->topic(), Numbered(i));
    ASSERT_THAT(admission, IsOk());
    refused += *admission == Admission::kFull;
  }
  EXPECT_GT(refused, 0);
  ASSERT_TRUE(session.Settle());
  const auto delivered = subject_->ReadBack(session.accepted());
  ASSERT_TRUE(delivered);
  EXPECT_EQ(delivered->size(), session.accepted());
}

// Catches: a sink that becomes ready to take more and doesn't say so. The relay would wait for
// ever.
TEST_P(KeepingSinkTest, AFullSinkBecomesReadableAndThenAccepts) {
  Session session = Open(20);
  int round = 0;
  for (int i = 0; i < 5000 && round < 20; ++i) {
    const auto admission = session.Offer(subject_->topic(), Numbered(i));
    ASSERT_THAT(admission, IsOk());
    if (*admission == Admission::kAccepted) continue;
    ++round;
    ASSERT_TRUE(session.Take(kPatience)) << "full, and never readable";
  }
  EXPECT_GT(round, 0);
  EXPECT_TRUE(session.Settle());
}

// Catches: batches that pass one another, and a key that changes its partition.
TEST_P(KeepingSinkTest, MessagesOfAKeyArriveInTheirOrder) {
  Session session = Open(200);
  for (int i = 0; i < 3000; ++i) ASSERT_THAT(Submit(session, Numbered(i)), IsOk());
  ASSERT_TRUE(session.Settle());
  const auto delivered = subject_->ReadBack(3000);
  ASSERT_TRUE(delivered.has_value());
  EXPECT_EQ(delivered->size(), 3000U);
  std::map<std::string, int> last;
  for (const Record& record : *delivered) {
    const int number = std::stoi(*record.value);
    const auto [at, first] = last.try_emplace(*record.key, number);
    if (first) continue;
    EXPECT_EQ(number, at->second + 7) << *record.key;
    at->second = number;
  }
}

// Catches: empty taken for null (a tombstone deletes), bytes cut at a zero, headers lost or merged,
// the time of sending instead of the message's.
TEST_P(KeepingSinkTest, EveryPartArrivesUnchanged) {
  const std::string binary = {'\0', '\xff', '\n', 'a', '\0'};
  const std::vector<Record> records = {
      {"key", "value", {{"id", "1"}, {"eventType", "created"}}, kTime},
      {"key", std::nullopt, {{"id", "2"}}, kTime + 1},
      {"key", "", {{"id", "3"}, {"empty", ""}}, kTime + 2},
      {"", "empty key", {}, kTime + 3},
      {std::nullopt, "no key", {}, kTime + 4},
      {binary, binary, {{"binary", binary}}, kTime + 5},
      {"umlaut \xc3\xbc", std::string(100'000, 'x'), {{"n\xc3\xa4me", "v\xc3\xa4lue"}}, kTime + 6},
  };
  Session session = Open();
  for (const Record& record : records) ASSERT_THAT(Submit(session, record), IsOk());
  ASSERT_TRUE(session.Settle());
  auto delivered = subject_->ReadBack(records.size());
  ASSERT_TRUE(delivered.has_value());
  auto expected = records;
  for (auto* list : {&expected, &*delivered}) {
    for (Record& record : *list) std::sort(record.headers.begin(), record.headers.end());
  }
  EXPECT_THAT(*delivered, UnorderedElementsAreArray(expected));
}

// Catches: a drain that forgets what is buffered, or that still lets messages in.
TEST_P(SinkTest, DrainingDeliversWhatWasAcceptedAndTakesNoMore) {
  Session session = Open();
  for (int i = 0; i < 100; ++i) ASSERT_THAT(Submit(session, Numbered(i)), IsOk());
  session.sink().BeginDrain();
  EXPECT_THAT(session.Offer(subject_->topic(), Numbered(100)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
  ASSERT_TRUE(session.TakeUntil([&] { return session.sink().drained(); }));
  EXPECT_EQ(session.delivered(), 100U);
}

// Catches: drained() that says yes while receipts wait to be taken. The relay would stop without
// them.
TEST_P(SinkTest, IsDrainedOnlyWhenReceiptsWereTaken) {
  Session session = Open();
  EXPECT_TRUE(session.sink().drained());
  ASSERT_THAT(Submit(session, Numbered(0)), IsOk());
  session.sink().BeginDrain();
  pollfd fd = {session.sink().ready_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, 20'000), 1);
  EXPECT_FALSE(session.sink().drained());
  EXPECT_TRUE(session.TakeUntil([&] { return session.sink().drained(); }));
}

// Catches: a destructor that flushes. After a second SIGTERM the process must be gone.
TEST_P(SinkTest, DestroyingItUndrainedIsQuick) {
  Session session = Open();
  for (int i = 0; i < 500; ++i) ASSERT_THAT(Submit(session, Numbered(i)), IsOk());
  const absl::Time begin = absl::Now();
  session.Destroy();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
}

// Catches: a descriptor that stays readable with nothing to do. The loop would spin.
TEST_P(SinkTest, TheDescriptorIsSilentWhenThereIsNothingToDo) {
  Session session = Open();
  ASSERT_THAT(Submit(session, Numbered(0)), IsOk());
  ASSERT_TRUE(session.Settle());
  EXPECT_TRUE(session.TakeUntil([&] { return !session.Take(absl::Milliseconds(300)); }));
}

// Catches: readiness that never comes, so that an orchestrator restarts a relay that works.
TEST_P(SinkTest, IsReadyOnceItHasDelivered) {
  Session session = Open();
  ASSERT_THAT(Submit(session, Numbered(0)), IsOk());
  ASSERT_TRUE(session.Settle());
  EXPECT_TRUE(session.sink().health().ready) << session.sink().health().reason;
  EXPECT_EQ(session.sink().health().reason, "");
}

// Catches: state of one session that leaks into the next (a lock, a file position, a producer's
// id).
TEST_P(KeepingSinkTest, ANewSessionGoesOnWhereTheLastOneEnded) {
  for (int i = 0; i < 3; ++i) {
    Session session = Open();
    ASSERT_THAT(Submit(session, Numbered(i * 7)), IsOk());  // of one key
    ASSERT_TRUE(session.Settle());
    EXPECT_EQ(session.delivered(), 1U);
  }
  const auto delivered = subject_->ReadBack(3);
  ASSERT_TRUE(delivered.has_value());
  std::vector<std::string> values;
  for (const Record& record : *delivered) values.push_back(*record.value);
  EXPECT_THAT(values, ::testing::ElementsAre("0", "7", "14"));
}

struct Name {
  std::string operator()(const ::testing::TestParamInfo<MakeSubject>& info) const {
    static constexpr const char* kNames[] = {"File", "Kafka", "Null"};
    return kNames[info.index];
  }
};
INSTANTIATE_TEST_SUITE_P(Sinks, SinkTest,
                         ::testing::Values(&FileSubject, &KafkaSubject, &NullSubject), Name());
INSTANTIATE_TEST_SUITE_P(Sinks, KeepingSinkTest, ::testing::Values(&FileSubject, &KafkaSubject),
                         Name());

}  // namespace
}  // namespace walpost::sink
