#include "ports.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/status.h"

namespace walpost::simulation {
namespace {

const char* const kNames[kMutants] = {"none",
                                      "confirm_on_enqueue",
                                      "confirm_last_callback",
                                      "one_beyond_a_keepalive",
                                      "commit_lsn_for_end_lsn",

                                      "row_skipped",
                                      "rows_swapped",
                                      "rolled_back_row_emitted",
                                      "pass_over_by_row_lsn"};

capture::OwnedFrame Owned(const std::string& bytes) {
  capture::OwnedFrame frame;
  frame.memory = {static_cast<char*>(std::malloc(bytes.size())), &std::free};
  frame.size = bytes.size();
  std::memcpy(frame.memory.get(), bytes.data(), bytes.size());
  return frame;
}

}  // namespace

const char* NameOf(Mutant mutant) { return kNames[static_cast<std::size_t>(mutant)]; }

ModelSource::ModelSource(World& world) : world_(world), assembler_({{"public", "outbox"}}, {}) {}

absl::Status ModelSource::Tick(MonotonicTime now, bool) {
  if (std::exchange(world_.cut, false)) {
    return Error(absl::StatusCode::kUnavailable, "the stream was cut");
  }
  if (state_ == capture::SourceState::kConnecting) {
    world_.postgres.StartReplication();
    world_.judge.OnSession(world_.postgres.confirmed_flush());
    identity_ = capture::Identity{42, world_.timeline, "shop"};
    feedback_.emplace(
        capture::FeedbackOptions{.confirmed_flush = Lsn(world_.postgres.confirmed_flush()),
                                 .wal_sender_timeout = absl::Minutes(1)},
        now);
    state_ = capture::SourceState::kStreaming;
  } else if (state_ == capture::SourceState::kStopping) {
    state_ = capture::SourceState::kStopped;
  } else if (state_ == capture::SourceState::kStreaming && now >= feedback_->due()) {
    Say(now);
  }
  return absl::OkStatus();
}

void ModelSource::Say(MonotonicTime now) {
  const capture::StatusUpdate update = feedback_->Take(now);
  const std::string fault = world_.postgres.OnStatus(update.flush.value);
  if (!fault.empty()) world_.judge.Accuse("G5: " + fault);
  world_.judge.OnConfirmed(update.flush.value);
}

absl::StatusOr<bool> ModelSource::TakeBatch(MonotonicTime, capture::Batch& batch) {
  batch.Clear();
  if (state_ != capture::SourceState::kStreaming) return false;
  for (std::size_t frames = world_.dice.Below(40); frames > 0; --frames) {
    std::optional<std::string> frame = world_.postgres.NextFrame();
    if (!frame) return false;
    keepalive_ = frame->front() == 'k';
    ASSIGN_OR_RETURN(const bool complete, OnFrame(*std::move(frame)));
    if (!complete) continue;
    assembler_.Take(batch);
    Mutate(batch);
    return true;
  }
  return false;
}

// As WalSource does it.
absl::StatusOr<bool> ModelSource::OnFrame(std::string bytes) {
  capture::OwnedFrame frame = Owned(bytes);
  ASSIGN_OR_RETURN(const capture::Frame parsed, capture::ParseFrame(frame.bytes()));
  if (const auto* keepalive = std::get_if<capture::Keepalive>(&parsed)) {
    feedback_->Announced(keepalive->wal_end);
    if (keepalive->reply_requested) feedback_->Requested();
    return assembler_.Add(*keepalive);
  }
  const auto& data = std::get<capture::XLogData>(parsed);
  feedback_->Received(data.data_start);
  ASSIGN_OR_RETURN(const bool complete, assembler_.Add(data, std::move(frame)));
  if (complete) feedback_->Announced(assembler_.last_end_lsn());
  return complete;
}

void ModelSource::Mutate(capture::Batch& batch) {
  const Mutant mutant = world_.mutant;
  if (mutant == Mutant::kOneBeyondAKeepalive && keepalive_ && batch.release) {
    batch.release = Position(batch.release->value + 1);
    feedback_->Announced(Lsn(batch.release->value));
  }
  if (mutant == Mutant::kCommitLsnForEndLsn && !batch.empty() && batch.release) {
    batch.release = Position(batch.transaction.commit_lsn.value);
  }
  const bool rows = mutant == Mutant::kRowSkipped || mutant == Mutant::kRowsSwapped ||
                    mutant == Mutant::kPassOverByRowLsn || mutant == Mutant::kRolledBackRowEmitted;
  const bool at_will = mutant != Mutant::kPassOverByRowLsn;
  if (!rows || batch.empty() || (at_will && (batch.size() < 2 || !world_.dice.Percent(20)))) return;
  capture::Batch changed;
  changed.transaction = batch.transaction;
  changed.first_index = batch.first_index;
  changed.release = batch.release;
  const auto keep = [&](std::size_t i) {
    std::vector<capture::Value> values(batch.row(i).values.begin(), batch.row(i).values.end());
    for (capture::Value& value : values) {
      kept_.emplace_back(value.bytes);
      value.bytes = kept_.back();
    }
    return values;
  };
  kept_.reserve(kept_.size() + 10 * batch.size() + 10);
  const std::shared_ptr<const capture::Relation> relation = batch.row(0).relation;
  const std::size_t at = at_will ? world_.dice.Below(batch.size() - 1) : 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (mutant == Mutant::kRowSkipped && i == at) continue;
    if (mutant == Mutant::kPassOverByRowLsn &&
        world_.postgres.RowLsnOf(std::string(batch.row(i).values[0].bytes)) <
            feedback_->said().value) {
      continue;
    }
    const bool swapped = mutant == Mutant::kRowsSwapped && (i == at || i == at + 1);
    changed.Add(relation, keep(!swapped ? i : i == at ? at + 1 : at));
    if (mutant == Mutant::kRolledBackRowEmitted && i == at) changed.Add(relation, keep(i));
  }
  batch = std::move(changed);
}

void ModelSource::Confirm(Position through) { feedback_->Confirm(Lsn(through.value)); }

void ModelSource::BeginStop(MonotonicTime now) {
  if (state_ == capture::SourceState::kStreaming) Say(now);
  state_ = capture::SourceState::kStopping;
}

capture::SourceProgress ModelSource::progress() const {
  capture::SourceProgress progress;
  progress.server = Lsn(world_.postgres.wal_end());
  if (feedback_) {
    progress.received = feedback_->received();
    progress.confirmed = feedback_->said();
  }
  return progress;
}

absl::StatusOr<sink::Admission> ModelSink::Submit(Ticket ticket, const outbox::Message& message) {
  if (world_.broker.failed()) return failure();
  if (world_.dice.Percent(3)) return sink::Admission::kFull;
  std::string id;
  bool dead_letter = false;
  for (const outbox::MessageHeader& header : message.headers) {
    if (header.name == "id") id = header.value;
    dead_letter = dead_letter || header.name == "walpost-error";
  }
  const Poison poison = world_.postgres.PoisonOf(id);
  if (poison == Poison::kTooLarge && !dead_letter) {
    return Error(absl::StatusCode::kInvalidArgument, "too large");
  }
  world_.broker.Produce(ticket, message, poison == Poison::kRefused);
  if (world_.mutant == Mutant::kConfirmOnEnqueue) {
    early_.push_back({ticket, absl::OkStatus()});
    receipted_[ticket.value] = true;
  }
  return sink::Admission::kAccepted;
}

void ModelSink::TakeReceipts(std::vector<sink::Receipt>& receipts) {
  receipts.insert(receipts.end(), early_.begin(), early_.end());
  early_.clear();
  for (const Receipt& receipt : world_.broker.TakeReceipts()) {
    if (receipted_[receipt.ticket.value]) continue;
    if (world_.mutant == Mutant::kConfirmLastCallback && receipt.status.ok()) {
      for (; next_ < receipt.ticket.value; ++next_) {
        if (!std::exchange(receipted_[next_], true)) {
          receipts.push_back({Ticket(next_), absl::OkStatus()});
        }
      }
    }
    receipted_[receipt.ticket.value] = true;
    receipts.push_back({receipt.ticket, receipt.status});
  }
}

absl::Status ModelSink::failure() const {
  return world_.broker.failed() ? Error(absl::StatusCode::kUnavailable, "the producer failed")
                                : absl::OkStatus();
}

}  // namespace walpost::simulation
