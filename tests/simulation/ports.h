// The relay's two ports on the models: the source runs the real decoder, assembler and feedback on the
// model's bytes; the sink gives the model broker real messages.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/source.h"
#include "capture/wal/feedback.h"
#include "capture/wal/transaction_assembler.h"
#include "judge.h"
#include "model_broker.h"
#include "model_postgres.h"
#include "sink/sink.h"

namespace walpost::simulation {

// What a relay could get wrong. The simulation is worth something only if it catches each.
enum class Mutant : std::uint8_t {
  kNone,
  kConfirmOnEnqueue,     // a receipt as soon as a message is handed over
  kConfirmLastCallback,  // a receipt stands for all before it
  kOneBeyondAKeepalive,  // walEnd + 1
  kCommitLsnForEndLsn,   // releases the start of the commit record

  kRowSkipped,
  kRowsSwapped,
  kRolledBackRowEmitted,
  kPassOverByRowLsn,  // drops rows whose own LSN is below the confirmed position
};
inline constexpr int kMutants = 9;
const char* NameOf(Mutant mutant);

// What outlives the sessions of a relay.
struct World {
  World(std::uint64_t seed, bool with_poison, Mutant the_mutant)
      : dice(seed),
        postgres(dice, with_poison),
        judge(postgres),
        broker(dice, [this](const Landed& landed) { judge.OnLanded(landed); }),
        mutant(the_mutant) {}

  Dice dice;
  ModelPostgres postgres;
  Judge judge;
  ModelBroker broker;
  const Mutant mutant;
  MonotonicTime now{1'000'000'000};
  std::uint32_t timeline = 1;
  bool cut = false;  // the stream's session is to fail
};

class ModelSource : public capture::Source {
 public:
  explicit ModelSource(World& world);

  void AppendPolls(std::vector<pollfd>&, bool) const override {}
  MonotonicTime deadline() const override { return MonotonicTime::Never(); }
  absl::Status Tick(MonotonicTime now, bool anything_unconfirmed) override;
  absl::StatusOr<bool> TakeBatch(MonotonicTime now, capture::Batch& batch) override;
  void Confirm(Position through) override;
  void BeginStop(MonotonicTime now) override;
  capture::SourceState state() const override { return state_; }
  bool inside_transaction() const override { return assembler_.inside_transaction(); }
  const std::optional<capture::Identity>& identity() const override { return identity_; }
  capture::SourceProgress progress() const override;
  bool server_is_stopping() const override { return false; }

 private:
  absl::StatusOr<bool> OnFrame(std::string frame);
  void Say(MonotonicTime now);
  void Mutate(capture::Batch& batch);

  World& world_;
  capture::SourceState state_ = capture::SourceState::kConnecting;
  std::optional<capture::Identity> identity_;
  capture::TransactionAssembler assembler_;
  std::optional<capture::Feedback> feedback_;
  bool keepalive_ = false;         // the batch under way is one
  std::vector<std::string> kept_;  // frames that a mutant made
};

class ModelSink : public sink::Sink {
 public:
  explicit ModelSink(World& world) : world_(world), fd_(eventfd(0, 0)) {
    world_.broker.BeginProducer();
  }
  ~ModelSink() override {
    world_.broker.Abandon();
    close(fd_);
  }
  absl::StatusOr<sink::Admission> Submit(Ticket ticket, const outbox::Message& message) override;
  void TakeReceipts(std::vector<sink::Receipt>& receipts) override;
  int ready_fd() const override { return fd_; }
  void BeginDrain() override {}
  bool drained() const override { return world_.broker.idle(); }
  absl::Status failure() const override;
  sink::SinkHealth health() const override { return {true, ""}; }
  sink::SinkTraits traits() const override { return {true, false}; }

 private:
  World& world_;
  const int fd_;
  std::vector<sink::Receipt> early_;         // of a mutant
  std::map<std::uint64_t, bool> receipted_;  // tickets that have their receipt, for a mutant
  std::uint64_t next_ = 0;
};

}  // namespace walpost::simulation
