#include "relay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"

namespace walpost {
namespace {

// May a new session heal it?
bool IsTransient(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kAborted ||
         status.code() == absl::StatusCode::kDeadlineExceeded;
}

std::string EventPosition(const capture::Transaction& transaction, std::uint32_t index) {
  return absl::StrFormat("%016X-%08X", transaction.commit_lsn.value, index);
}

}  // namespace

Relay::Relay(const RelayOptions& options, RelayParts parts)
    : options_(options),
      parts_(std::move(parts)),
      backoff_({limits::kFirstBackoff, limits::kMostBackoff}, options.seed),
      window_(options.max_inflight_messages, options.max_inflight_bytes),
      ack_latency_(parts_.metrics->StageLatency(Stage::kAck)) {
  BeginSession(parts_.clock());
}

void Relay::AppendPolls(std::vector<pollfd>& polls) const {
  const bool paused = full_ || phase_ != Phase::kRunning;
  if (source_ != nullptr) source_->AppendPolls(polls, paused && phase_ != Phase::kFarewell);
  if (sink_ != nullptr) polls.push_back({sink_->ready_fd(), POLLIN, 0});
}

MonotonicTime Relay::deadline() const {
  if (more_ || phase_ == Phase::kStopped) return MonotonicTime();
  // libpq can hold decrypted bytes while its socket looks idle: never sleep for long.
  MonotonicTime soonest = parts_.clock() + absl::Seconds(1);
  soonest = std::min(soonest, stop_deadline_);
  if (phase_ == Phase::kBackoff || phase_ == Phase::kSettling) soonest = std::min(soonest, wake_);
  if (source_ != nullptr) soonest = std::min(soonest, source_->deadline());
  return soonest;
}

void Relay::Step() {
  const MonotonicTime now = parts_.clock();
  more_ = false;
  switch (phase_) {
    case Phase::kRunning:
      Run(now);
      break;
    case Phase::kSettling:
      Settle(now);
      break;
    case Phase::kBackoff:
      if (now >= wake_) BeginSession(now);
      break;
    case Phase::kDraining:
      Drain(now);
      break;
    case Phase::kFarewell:
      Farewell(now);
      break;
    case Phase::kStopped:
      break;
  }
  if (now >= stop_deadline_ && phase_ != Phase::kStopped) Finish();
}

// --- Sessions ---

void Relay::BeginSession(MonotonicTime now) {
  tracker_ = {};
  window_ = watermark::Window(options_.max_inflight_messages, options_.max_inflight_bytes);
  batch_.Clear();
  cursor_ = 0;
  message_.reset();
  last_.reset();
  full_ = sink_failed_ = streaming_noted_ = false;
  events_ = 0;
  counted_ = {};
  least_backoff_ = absl::ZeroDuration();
  phase_ = Phase::kRunning;

  absl::StatusOr<std::unique_ptr<sink::Sink>> sink = parts_.make_sink();
  if (!sink.ok()) return OnSinkFailure(sink.status(), now);
  sink_ = *std::move(sink);
  absl::StatusOr<std::unique_ptr<capture::Source>> source = parts_.make_source(has_streamed_, now);
  if (!source.ok()) return OnSourceFailure(source.status(), now);
  source_ = *std::move(source);
}

void Relay::NoteStreaming() {
  if (streaming_noted_ || source_->state() != capture::SourceState::kStreaming) return;
  streaming_noted_ = has_streamed_ = true;
  confirmer_.BeginSession(*source_->identity(), source_->progress().server);
}

void Relay::EndSession() {
  // Everything before the oldest message in flight, or before the row to be handled next, is
  // delivered.
  if (streaming_noted_) {
    if (!window_.empty()) {
      confirmer_.EndSession(window_.oldest().transaction, window_.oldest().index);
    } else if (last_) {
      confirmer_.EndSession(last_->transaction, last_->index + 1);
    }
  }
  Count();
  source_.reset();
  sink_.reset();
}

void Relay::OnSourceFailure(const absl::Status& status, MonotonicTime now) {
  least_backoff_ = source_ != nullptr && source_->server_is_stopping() ? limits::kShutdownBackoff
                                                                       : absl::ZeroDuration();
  // A password that worked before may be in rotation.
  const bool heals =
      IsTransient(status) || (has_streamed_ && status.code() == absl::StatusCode::kUnauthenticated);
  if (status.code() == absl::StatusCode::kDataLoss) parts_.metrics->decode_errors.Increment();
  Count();
  source_.reset();  // at once: a server that shuts down waits for it
  if (heals) {
    BeginSettling(status, now);
  } else {
    BeginDrain(status, now);
  }
}

void Relay::OnSinkFailure(const absl::Status& status, MonotonicTime now) {
  sink_failed_ = true;
  // A permission may be granted while we wait, and nothing is lost meanwhile.
  if (IsTransient(status) || status.code() == absl::StatusCode::kPermissionDenied) {
    return BeginSettling(status, now);
  }
  BeginDrain(status, now);
}

void Relay::BeginSettling(const absl::Status& why, MonotonicTime now) {
  last_error_ = std::string(why.message());
  log::Warning("the session ended, recovering",
               {{"err", MessageOf(why)}, {"hint", HintOf(why)}, {"inflight", window_.messages()}});
  parts_.metrics->Reconnects(sink_failed_ ? "sink" : "source").Increment();
  phase_ = Phase::kSettling;
  wake_ = now + limits::kSettleGrace;
  if (sink_ != nullptr) sink_->BeginDrain();
}

void Relay::Settle(MonotonicTime now) {
  const bool failed = !TakeReceipts(now).ok();
  sink_failed_ = sink_failed_ || failed;
  if (source_ != nullptr && !source_->Tick(now, anything_unconfirmed()).ok()) source_.reset();
  if (!sink_failed_ && sink_ != nullptr && !sink_->drained() && now < wake_) return;
  EndSession();
  if (stopping_) return Finish();
  phase_ = Phase::kBackoff;
  wake_ = now + backoff_.Next(least_backoff_);
}

// --- Stopping ---

void Relay::BeginStop() {
  if (stopping_) return;
  stopping_ = true;
  stop_deadline_ = std::min(stop_deadline_, parts_.clock() + options_.drain_timeout);
  const bool streams = source_ != nullptr && source_->state() == capture::SourceState::kStreaming;
  if (phase_ == Phase::kBackoff || (phase_ == Phase::kRunning && !streams)) Finish();
  more_ = true;
}

void Relay::BeginDrain(absl::Status why, MonotonicTime now) {
  if (!why.ok()) {
    last_error_ = std::string(why.message());
    stop_deadline_ = std::min(stop_deadline_, now + options_.drain_timeout);
  }
  outcome_ = std::move(why);
  phase_ = Phase::kDraining;
  if (sink_ != nullptr) sink_->BeginDrain();
  more_ = true;
}

void Relay::Drain(MonotonicTime now) {
  if (!TakeReceipts(now).ok()) sink_failed_ = true;
  if (source_ != nullptr) {
    if (const absl::Status status = source_->Tick(now, anything_unconfirmed()); !status.ok()) {
      log::Warning("lost Postgres while draining", {{"err", MessageOf(status)}});
      source_.reset();
    }
  }
  if (sink_ != nullptr && !sink_failed_ && !sink_->drained()) return;
  if (source_ != nullptr) source_->BeginStop(now);
  phase_ = Phase::kFarewell;
  more_ = true;
}

void Relay::Farewell(MonotonicTime now) {
  const bool done = source_ == nullptr || !source_->Tick(now, false).ok() ||
                    source_->state() == capture::SourceState::kStopped;
  if (done) Finish();
}

void Relay::Finish() {
  const std::size_t undelivered = window_.messages() + (batch_.size() - cursor_);
  if (outcome_.ok() && (undelivered > 0 || (source_ != nullptr && source_->inside_transaction()))) {
    outcome_ = WithExitCode(
        Error(absl::StatusCode::kDeadlineExceeded,
              absl::StrCat("stopped with ", undelivered, " events undelivered; they come again")),
        ExitCode::kUndelivered);
  }
  Count();
  source_.reset();
  sink_.reset();
  phase_ = Phase::kStopped;
}

// --- One turn ---

void Relay::Run(MonotonicTime now) {
  if (const absl::Status status = TakeReceipts(now); !status.ok())
    return OnSinkFailure(status, now);
  if (const absl::Status status = source_->Tick(now, anything_unconfirmed()); !status.ok()) {
    return OnSourceFailure(status, now);
  }
  NoteStreaming();
  Pump(now);
}

absl::Status Relay::TakeReceipts(MonotonicTime now) {
  if (sink_ == nullptr) return absl::OkStatus();
  receipts_.clear();
  sink_->TakeReceipts(receipts_);
  if (receipts_.empty()) return absl::OkStatus();
  const absl::Time wall = absl::Now();
  absl::Status failure;
  for (const sink::Receipt& receipt : receipts_) {
    if (receipt.status.ok()) {
      const absl::Status known = tracker_.Ack(receipt.ticket);
      if (!known.ok()) return known;
      Landed(receipt.ticket, now, wall);
    } else {
      const watermark::Flight& flight = window_.at(receipt.ticket);
      if (receipt.status.code() == absl::StatusCode::kAborted) singly_until_ = last_;
      parts_.metrics
          ->Failed(topics_[flight.topic].first, absl::StatusCodeToString(receipt.status.code()))
          .Increment();
      // What was purged after a rejection says less than the rejection.
      if (failure.ok() || (IsTransient(failure) && !IsTransient(receipt.status))) {
        failure =
            WithContext(receipt.status,
                        absl::StrCat("event ", EventPosition(flight.transaction, flight.index)));
      }
    }
  }
  window_.PopBefore(tracker_.first_unacknowledged());
  if (const std::optional<Position> through = confirmer_.Advance(tracker_.watermark())) {
    if (source_ != nullptr) source_->Confirm(*through);
  }
  return failure;
}

void Relay::Landed(Ticket ticket, MonotonicTime now, absl::Time wall) {
  const watermark::Flight& flight = window_.at(ticket);
  topics_[flight.topic].second->Increment();
  parts_.metrics->end_to_end_latency_seconds.Observe(
      absl::ToDoubleSeconds(wall - flight.transaction.commit_time));
  ack_latency_.Observe(absl::ToDoubleSeconds(now - flight.submitted));
  last_delivered_commit_ = flight.transaction.commit_time;
  backoff_.Reset();
}

void Relay::Pump(MonotonicTime now) {
  full_ = false;
  for (std::size_t rows = 0; rows < limits::kFramesPerTurn; ++rows) {
    const bool batch_done = cursor_ == batch_.size();
    if (batch_done && stopping_ && !source_->inside_transaction()) {
      return BeginDrain(absl::OkStatus(), now);
    }
    absl::StatusOr<Progress> progress = batch_done ? TakeBatch() : SubmitRow(now);
    if (!progress.ok()) {
      if (batch_done) return OnSourceFailure(progress.status(), now);
      return sink_failed_ ? OnSinkFailure(progress.status(), now)
                          : BeginDrain(progress.status(), now);
    }
    if (*progress == Progress::kNothing) return;
    if (*progress == Progress::kFull) {
      full_ = true;
      return;
    }
  }
  more_ = true;
}

absl::StatusOr<Relay::Progress> Relay::TakeBatch() {
  ASSIGN_OR_RETURN(const bool taken, source_->TakeBatch(parts_.clock(), batch_));
  cursor_ = 0;
  if (!taken) return Progress::kNothing;
  events_ += batch_.size();
  // What an earlier session delivered comes first in its transaction.
  while (cursor_ < batch_.size() &&
         confirmer_.Delivered(batch_.transaction,
                              batch_.first_index + static_cast<std::uint32_t>(cursor_))) {
    ++cursor_;
  }
  if (cursor_ > 0) {
    parts_.metrics->Skipped(SkipReason::kReplayed).Increment(static_cast<double>(cursor_));
    last_ =
        watermark::Flight{.transaction = batch_.transaction,
                          .index = batch_.first_index + static_cast<std::uint32_t>(cursor_) - 1};
  }
  if (const std::size_t events = batch_.first_index + batch_.size(); batch_.release && events > 0) {
    parts_.metrics->transaction_messages.Observe(static_cast<double>(events));
  }
  ticket_ = tracker_.Open(static_cast<std::uint32_t>(batch_.size() - cursor_), batch_.release);
  if (const std::optional<Position> through = confirmer_.Advance(tracker_.watermark())) {
    source_->Confirm(*through);  // nothing was outstanding: a keepalive, or other tables' work
  }
  return Progress::kMore;
}

absl::StatusOr<Relay::Progress> Relay::SubmitRow(MonotonicTime now) {
  const std::uint32_t index = batch_.first_index + static_cast<std::uint32_t>(cursor_);
  if (!message_) RETURN_IF_ERROR(BuildMessage(batch_.row(cursor_), index));
  const std::size_t bytes = message_->size();
  if (!window_.HasRoom(bytes)) return Progress::kFull;
  if (!window_.empty() && Singly(index)) return Progress::kFull;
  absl::StatusOr<sink::Admission> admission = sink_->Submit(ticket_, *message_);
  if (!admission.ok()) {
    sink_failed_ = admission.status().code() != absl::StatusCode::kInvalidArgument;
    return WithContext(admission.status(),
                       absl::StrCat("event ", EventPosition(batch_.transaction, index)));
  }
  if (*admission == sink::Admission::kFull) return Progress::kFull;
  const watermark::Flight flight{.transaction = batch_.transaction,
                                 .index = index,
                                 .topic = TopicNumber(message_->topic),
                                 .bytes = bytes,
                                 .submitted = now};
  window_.Push(flight);
  parts_.metrics->message_size_bytes.Observe(static_cast<double>(bytes));
  last_ = flight;
  ticket_ = Ticket(ticket_.value + 1);
  message_.reset();
  ++cursor_;
  return Progress::kMore;
}

bool Relay::Singly(std::uint32_t index) const {
  if (!singly_until_) return false;
  const Lsn until = singly_until_->transaction.commit_lsn;
  return batch_.transaction.commit_lsn < until ||
         (batch_.transaction.commit_lsn == until && index <= singly_until_->index);
}

absl::Status Relay::BuildMessage(const capture::Row& row, std::uint32_t index) {
  const auto failed = [&](const absl::Status& status) {
    return WithContext(status, absl::StrCat("event ", EventPosition(batch_.transaction, index)));
  };
  absl::StatusOr<outbox::Event> event = parts_.mapper->Map(row);
  if (!event.ok()) return failed(event.status());
  const capture::Identity& identity = *source_->identity();
  absl::StatusOr<outbox::Message> message =
      parts_.builder->Build(*event, {.system_identifier = identity.system_identifier,
                                     .timeline = identity.timeline,
                                     .database = identity.database,
                                     .relation = parts_.mapper->relation_name(),
                                     .xid = batch_.transaction.xid,
                                     .commit_lsn = batch_.transaction.commit_lsn,
                                     .index = index,
                                     .committed_at = batch_.transaction.commit_time});
  if (!message.ok()) return failed(message.status());
  message_ = *message;
  return absl::OkStatus();
}

std::uint32_t Relay::TopicNumber(std::string_view topic) {
  if (last_ && last_->topic < topics_.size() && topics_[last_->topic].first == topic) {
    return last_->topic;
  }
  const auto [found, fresh] =
      topic_numbers_.try_emplace(std::string(topic), static_cast<std::uint32_t>(topics_.size()));
  if (fresh) topics_.emplace_back(topic, &parts_.metrics->Delivered(topic));
  return found->second;
}

}  // namespace walpost
