// The relay stepped by hand: a source and a sink that do as they are told, and a clock that stands
// still.
#include "relay.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <map>

#include "base/limits.h"
#include "base/status.h"
#include "status_is.h"

namespace walpost {
namespace {

using capture::SourceState;
using ::testing::HasSubstr;
using testing::StatusIs;

const auto kRelation =
    std::make_shared<const capture::Relation>(capture::Relation{RelationOid(1),
                                                                "public",
                                                                "outbox",
                                                                {{"id", 25, -1, "", ""},
                                                                 {"aggregate_type", 25, -1, "", ""},
                                                                 {"aggregate_id", 25, -1, "", ""},
                                                                 {"event_type", 25, -1, "", ""},
                                                                 {"payload", 25, -1, "", ""}}});

// A transaction as the server has it: rows are event ids; "" is a row that can't be an event.
struct ServerTransaction {
  std::uint64_t commit_lsn;
  std::uint64_t end_lsn;
  std::vector<std::string> ids;
};

// What outlives the sessions: the server with its slot, and the broker.
struct World {
  MonotonicTime now{1'000'000'000};
  std::deque<ServerTransaction> wal;
  std::uint64_t confirmed = 0;
  capture::Identity identity{42, 1, "shop"};
  std::vector<std::string> delivered;  // acknowledged ids, in order of acknowledgement
  int sessions = 0;
  class FakeSource* source = nullptr;
  class FakeSink* sink = nullptr;
};

class FakeSource : public capture::Source {
 public:
  explicit FakeSource(World& world) : world_(world) { world_.source = this; }
  ~FakeSource() override { world_.source = nullptr; }

  void AppendPolls(std::vector<pollfd>&, bool paused) const override { paused_ = paused; }
  MonotonicTime deadline() const override { return MonotonicTime::Never(); }
  absl::Status Tick(MonotonicTime, bool) override {
    if (state_ == SourceState::kConnecting && world_streams_) {
      state_ = SourceState::kStreaming;
      identity_ = world_.identity;
    }
    if (state_ == SourceState::kStopping) state_ = SourceState::kStopped;
    return failure;
  }
  // One row a batch; the release comes with the last one.
  absl::StatusOr<bool> TakeBatch(MonotonicTime, capture::Batch& batch) override {
    batch.Clear();
    while (next_ < world_.wal.size() && world_.wal[next_].end_lsn <= world_.confirmed) ++next_;
    if (state_ != SourceState::kStreaming || next_ == world_.wal.size() || hold_rows == 0)
      return false;
    --hold_rows;
    const ServerTransaction& transaction = world_.wal[next_];
    batch.transaction = {Lsn(transaction.commit_lsn), Xid(7), absl::FromUnixSeconds(1)};
    batch.first_index = row_;
    const std::string& id = transaction.ids[row_];
    const capture::Value text[] = {{capture::Value::Kind::kText, id},
                                   {capture::Value::Kind::kText, "order"},
                                   {capture::Value::Kind::kText, "7"},
                                   {capture::Value::Kind::kText, "placed"},
                                   {capture::Value::Kind::kText, "{}"}};
    batch.Add(kRelation, text);
    if (++row_ == transaction.ids.size()) {
      batch.release = Position(transaction.end_lsn);
      row_ = 0;
      ++next_;
    }
    return true;
  }
  void Confirm(Position through) override { world_.confirmed = through.value; }
  void BeginStop(MonotonicTime) override { state_ = SourceState::kStopping; }
  SourceState state() const override { return state_; }
  bool inside_transaction() const override { return row_ > 0; }
  const std::optional<capture::Identity>& identity() const override { return identity_; }
  capture::SourceProgress progress() const override {
    capture::SourceProgress progress;
    progress.server = Lsn(1'000'000);
    return progress;
  }
  bool server_is_stopping() const override { return false; }

  void Become(SourceState state) { world_streams_ = false, state_ = state; }
  bool paused() const { return paused_; }
  absl::Status failure;
  int hold_rows = 1'000'000;  // how many rows may still be taken

 private:
  World& world_;
  SourceState state_ = SourceState::kConnecting;
  bool world_streams_ = true;
  std::optional<capture::Identity> identity_;
  std::size_t next_ = 0;
  std::uint32_t row_ = 0;
  mutable bool paused_ = false;
};

class FakeSink : public sink::Sink {
 public:
  explicit FakeSink(World& world) : world_(world), fd_(eventfd(0, 0)) { world_.sink = this; }
  ~FakeSink() override {
    world_.sink = nullptr;
    close(fd_);
  }
  absl::StatusOr<sink::Admission> Submit(Ticket ticket, const outbox::Message& message) override {
    if (!failure.ok()) return failure;
    if (full) return sink::Admission::kFull;
    for (const outbox::MessageHeader& header : message.headers) {
      if (header.name == "id") waiting[ticket.value] = std::string(header.value);
    }
    return sink::Admission::kAccepted;
  }
  void TakeReceipts(std::vector<sink::Receipt>& receipts) override {
    receipts.insert(receipts.end(), ready_.begin(), ready_.end());
    ready_.clear();
  }
  int ready_fd() const override { return fd_; }
  void BeginDrain() override { draining = true; }
  bool drained() const override { return waiting.empty() && ready_.empty(); }
  sink::SinkHealth health() const override { return {true, ""}; }
  sink::SinkTraits traits() const override { return {}; }

  void Acknowledge(const std::string& id) {
    for (const auto& [ticket, waiting_id] : waiting) {
      if (waiting_id != id) continue;
      world_.delivered.push_back(id);
      ready_.push_back({Ticket(ticket), absl::OkStatus()});
      waiting.erase(ticket);
      return;
    }
    FAIL() << id << " is not waiting";
  }
  void AcknowledgeAll() {
    while (!waiting.empty()) Acknowledge(waiting.begin()->second);
  }
  void Reject(absl::Status status) {
    for (const auto& [ticket, id] : waiting) ready_.push_back({Ticket(ticket), status});
    waiting.clear();
    failure = std::move(status);
  }
  std::map<std::uint64_t, std::string> waiting;
  bool full = false;
  bool draining = false;
  absl::Status failure;

 private:
  World& world_;
  const int fd_;
  std::vector<sink::Receipt> ready_;
};

class RelayTest : public ::testing::Test {
 protected:
  RelayTest() : mapper_(outbox::MappingOptions()), metrics_({"1", "2", "3", "4"}) {
    auto builder = outbox::MessageBuilder::Make({}, outbox::ValueFormat::kEnvelope);
    builder_ = *std::move(builder);
  }
  void Start(std::size_t window = 100) {
    RelayParts parts;
    parts.make_source = [this](bool,
                               MonotonicTime) -> absl::StatusOr<std::unique_ptr<capture::Source>> {
      ++world_.sessions;
      return std::make_unique<FakeSource>(world_);
    };
    parts.make_sink = [this]() -> absl::StatusOr<std::unique_ptr<sink::Sink>> {
      return std::make_unique<FakeSink>(world_);
    };
    parts.mapper = &mapper_;
    parts.builder = builder_.get();
    parts.metrics = &metrics_;
    parts.clock = [this] { return world_.now; };
    relay_.emplace(RelayOptions{.max_inflight_messages = window,
                                .max_inflight_bytes = 1'000'000,
                                .drain_timeout = absl::Seconds(5),
                                .seed = 1},
                   parts);
    Turn();
  }
  void Turn(int turns = 4) {
    for (int i = 0; i < turns && !relay_->stopped(); ++i) relay_->Step();
  }
  void Pass(absl::Duration time) {
    world_.now = world_.now + time;
    Turn();
  }
  bool Paused() {
    std::vector<pollfd> polls;
    relay_->AppendPolls(polls);
    return world_.source->paused();
  }
  FakeSource& source() { return *world_.source; }
  FakeSink& sink() { return *world_.sink; }

  World world_;
  outbox::Mapper mapper_;
  std::unique_ptr<outbox::MessageBuilder> builder_;
  Metrics metrics_;
  std::optional<Relay> relay_;
};

using Ids = std::vector<std::string>;

TEST_F(RelayTest, ConfirmsATransactionOnceAllOfItIsAcknowledged) {
  world_.wal = {{100, 148, {"a", "b"}}, {200, 248, {"c"}}};
  Start();
  ASSERT_EQ(sink().waiting.size(), 3U);
  sink().Acknowledge("c");
  sink().Acknowledge("b");
  Turn();
  EXPECT_EQ(world_.confirmed, 0U);
  sink().Acknowledge("a");
  Turn();
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, AFullWindowPausesReadingUntilTheOldestLands) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}, {300, 348, {"c"}}};
  Start(/*window=*/2);
  EXPECT_EQ(sink().waiting.size(), 2U);
  EXPECT_TRUE(Paused());
  sink().Acknowledge("b");
  Turn();
  EXPECT_EQ(sink().waiting.size(), 1U);  // the oldest still counts
  sink().Acknowledge("a");
  Turn();
  EXPECT_EQ(sink().waiting.size(), 1U);
  EXPECT_EQ(sink().waiting.begin()->second, "c");
  EXPECT_FALSE(Paused());
}

TEST_F(RelayTest, AFullSinkLosesAndRepeatsNothing) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  sink().full = true;
  world_.wal.push_back({300, 348, {"c"}});
  world_.wal.push_back({400, 448, {"d"}});
  Turn();
  EXPECT_TRUE(Paused());
  sink().full = false;
  Turn();
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c", "d"}));
  EXPECT_EQ(world_.confirmed, 448U);
}

TEST_F(RelayTest, AKilledStreamCostsNoDuplicateIfTheBrokerAnswersWithinTheGrace) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b", "c"}}};
  Start();
  ASSERT_EQ(sink().waiting.size(), 3U);
  source().failure = absl::UnavailableError("the server ended the stream");
  Turn();
  EXPECT_EQ(world_.source, nullptr);  // closed at once
  ASSERT_NE(world_.sink, nullptr);    // and what is in flight is waited for
  EXPECT_TRUE(sink().draining);
  sink().AcknowledgeAll();
  Turn();
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c"}));
  EXPECT_TRUE(sink().waiting.empty());
  EXPECT_EQ(world_.confirmed, 248U);  // passed over, and now confirmed
}

TEST_F(RelayTest, WhatWasNotAcknowledgedWithinTheGraceComesAgain) {
  world_.wal = {{100, 148, {"a", "b", "c"}}};
  Start();
  sink().Acknowledge("a");
  sink().Acknowledge("c");
  source().failure = absl::UnavailableError("the server ended the stream");
  Turn();
  Pass(limits::kSettleGrace);
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered,
            (Ids{"a", "c", "b", "c"}));  // the prefix is known, what lies behind the hole isn't
  EXPECT_EQ(world_.confirmed, 148U);
}

TEST_F(RelayTest, ACutTransactionGoesOnBehindItsDeliveredRows) {
  world_.wal = {{100, 148, {"a", "b", "c"}}};
  Start();
  source().hold_rows = 0;
  sink().AcknowledgeAll();
  Turn();
  world_.wal.push_back({200, 248, {"d", "e", "f"}});
  source().hold_rows = 2;
  Turn();
  sink().AcknowledgeAll();
  source().failure = absl::UnavailableError("cut");
  Turn();
  Pass(limits::kMostBackoff);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, AFailedSinkIsSettledAtOnceAndConfirmsNothingPastTheHole) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b"}}};
  Start();
  sink().Acknowledge("a");
  sink().Reject(absl::UnavailableError("the producer is fatally broken"));
  Turn();
  EXPECT_EQ(world_.confirmed, 148U);
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "b"}));
  EXPECT_EQ(world_.confirmed, 248U);
}

TEST_F(RelayTest, AnotherHistoryIsNotPassedOver) {
  world_.wal = {{100, 148, {"a"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  world_.identity.timeline = 2;
  world_.confirmed = 0;
  world_.wal = {{100, 148, {"other"}}};
  source().failure = absl::UnavailableError("failover");
  Turn();
  Pass(limits::kMostBackoff);
  sink().AcknowledgeAll();
  Turn();
  EXPECT_EQ(world_.delivered, (Ids{"a", "other"}));
}

TEST_F(RelayTest, WhatARetryCannotHealStopsWithItsReason) {
  Start();
  source().failure =
      WithExitCode(absl::FailedPreconditionError("slot 'relay' does not exist"), ExitCode::kData);
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_THAT(relay_->outcome(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("slot 'relay'")));
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kData);
  EXPECT_EQ(world_.sessions, 1);
}

TEST_F(RelayTest, ARotatedPasswordHealsButAWrongOneStops) {
  Start();
  source().failure = absl::UnauthenticatedError("password authentication failed");
  Turn();
  Pass(limits::kMostBackoff);
  EXPECT_EQ(world_.sessions, 2);
  EXPECT_FALSE(relay_->stopped());
}

TEST_F(RelayTest, APoisonRowStopsBehindWhatCameBefore) {
  world_.wal = {{100, 148, {"a"}}, {200, 248, {"b", "", "c"}}};
  Start();
  EXPECT_FALSE(relay_->stopped());
  sink().AcknowledgeAll();
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_THAT(relay_->outcome(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("event 00000000000000C8-00000001")));
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kData);
  EXPECT_EQ(world_.delivered, (Ids{"a", "b"}));
  EXPECT_EQ(world_.confirmed, 148U);
}

TEST_F(RelayTest, StoppingReadsTheOpenTransactionDrainsAndSaysTheLastConfirmation) {
  world_.wal = {{100, 148, {"a", "b", "c"}}, {200, 248, {"d"}}};
  Start();
  sink().AcknowledgeAll();
  Turn();
  world_.wal.push_back({300, 348, {"e", "f"}});
  source().hold_rows = 1;
  Turn();
  relay_->BeginStop();
  Turn();
  EXPECT_FALSE(relay_->stopped());
  source().hold_rows = 10;
  Turn();
  EXPECT_TRUE(sink().draining);
  world_.wal.push_back({400, 448, {"not any more"}});
  Turn();
  sink().AcknowledgeAll();
  Turn();
  ASSERT_TRUE(relay_->stopped());
  EXPECT_TRUE(relay_->outcome().ok()) << relay_->outcome();
  EXPECT_EQ(world_.delivered.back(), "f");
  EXPECT_EQ(world_.confirmed, 348U);
}

TEST_F(RelayTest, StoppingPastTheDeadlineSaysThatEventsComeAgain) {
  world_.wal = {{100, 148, {"a"}}};
  Start();
  relay_->BeginStop();
  Turn();
  EXPECT_FALSE(relay_->stopped());
  Pass(absl::Seconds(5));
  ASSERT_TRUE(relay_->stopped());
  EXPECT_EQ(ExitCodeOf(relay_->outcome()), ExitCode::kUndelivered);
  EXPECT_EQ(world_.confirmed, 0U);
}

TEST_F(RelayTest, AStandbyStopsAtOnceAndIsReady) {
  Start();
  source().Become(SourceState::kStandby);
  EXPECT_TRUE(relay_->Report().ready);
  EXPECT_EQ(relay_->Report().state, RelayState::kStandby);
  relay_->BeginStop();
  EXPECT_TRUE(relay_->stopped());
  EXPECT_TRUE(relay_->outcome().ok());
}

TEST_F(RelayTest, StoppingWhileDisconnectedEndsAtOnce) {
  Start();
  source().failure = absl::UnavailableError("gone");
  Turn();
  relay_->BeginStop();
  Turn();
  EXPECT_TRUE(relay_->stopped());
  EXPECT_TRUE(relay_->outcome().ok());
}

}  // namespace
}  // namespace walpost
