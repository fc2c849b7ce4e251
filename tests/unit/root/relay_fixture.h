// The relay stepped by hand: a source and a sink that do as they are told, and a clock that stands
// still. The vocabulary of the relay's stories.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <map>

#include "base/limits.h"
#include "base/status.h"
#include "relay.h"
#include "status_is.h"

namespace walpost {

using capture::SourceState;

inline const auto kRelation =
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
  std::vector<std::string> delivered;               // acknowledged ids, in order of acknowledgement
  std::map<std::string, std::string> dead_letters;  // submitted: id to error
  std::map<std::string, std::string> meant_topics;  // likewise, id to walpost-topic
  std::optional<capture::LastSeen> last_seen;       // as the newest session was told
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
    progress.confirmed = Lsn(world_.confirmed);
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
    std::string id;
    std::string error;
    std::string meant_topic;
    for (const outbox::MessageHeader& header : message.headers) {
      if (header.name == "id") id = header.value;
      if (header.name == "walpost-error") error = header.value;
      if (header.name == "walpost-topic") meant_topic = header.value;
    }
    if (too_large == id && error.empty()) return absl::InvalidArgumentError("too large");
    if (too_large_letter == id && !error.empty() && message.value && !message.value->empty()) {
      return absl::InvalidArgumentError("too large for the dead letters");
    }
    if (!error.empty()) {
      world_.dead_letters[id] = error;
      world_.meant_topics[id] = meant_topic;
    }
    waiting[ticket.value] = id;
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
  // Of one message only; the sink fails, and what is behind it is purged.
  void Refuse(const std::string& id, absl::Status status) {
    for (const auto& [ticket, waiting_id] : waiting) {
      ready_.push_back(
          {Ticket(ticket), waiting_id == id ? status : absl::UnavailableError("purged")});
    }
    waiting.clear();
    failure = absl::UnavailableError("a message was refused");
  }
  std::map<std::uint64_t, std::string> waiting;
  std::string too_large;         // an id that Submit refuses
  std::string too_large_letter;  // likewise, as a dead letter with its content
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
  RelayTest() : reader_(outbox::MappingOptions()), metrics_({"1", "2", "3", "4"}) {
    auto builder = outbox::MessageBuilder::Make({}, outbox::ValueFormat::kEnvelope);
    builder_ = *std::move(builder);
  }
  void Start(std::size_t window = 100) {
    RelayParts parts;
    parts.make_source = [this](const std::optional<capture::LastSeen>& last,
                               MonotonicTime) -> absl::StatusOr<std::unique_ptr<capture::Source>> {
      ++world_.sessions;
      world_.last_seen = last;
      return std::make_unique<FakeSource>(world_);
    };
    parts.make_sink = [this]() -> absl::StatusOr<std::unique_ptr<sink::Sink>> {
      return std::make_unique<FakeSink>(world_);
    };
    parts.reader = &reader_;
    parts.builder = builder_.get();
    poison_.emplace(poison_options_);
    parts.poison = &*poison_;
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
  outbox::EventReader reader_;
  std::unique_ptr<outbox::MessageBuilder> builder_;
  PoisonOptions poison_options_{.dead_letter_topic = "outbox.dead_letter"};
  std::optional<PoisonPolicy> poison_;
  Metrics metrics_;
  std::optional<Relay> relay_;
};

using Ids = std::vector<std::string>;

}  // namespace walpost
