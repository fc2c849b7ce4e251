#include "relay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"

namespace walpost {
Relay::Relay(const RelayOptions& options, RelayParts parts)
    : options_(options),
      parts_(std::move(parts)),
      backoff_({limits::kFirstBackoff, limits::kMostBackoff}, options.seed),
      window_(options.max_inflight_messages, options.max_inflight_bytes),
      receive_latency_(parts_.metrics->StageLatency(Stage::kReceive)),
      decode_latency_(parts_.metrics->StageLatency(Stage::kDecode)),
      encode_latency_(parts_.metrics->StageLatency(Stage::kEncode)),
      enqueue_latency_(parts_.metrics->StageLatency(Stage::kEnqueue)),
      ack_latency_(parts_.metrics->StageLatency(Stage::kAck)),
      confirm_latency_(parts_.metrics->StageLatency(Stage::kConfirm)) {
  TopicNumber(parts_.poison->topic());  // has a number of its own, however many topics there are
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
  unsaid_.reset();
  full_ = sink_failed_ = streaming_noted_ = replay_at_once_ = false;
  events_ = 0;
  counted_ = {};
  least_backoff_ = absl::ZeroDuration();
  phase_ = Phase::kRunning;

  absl::StatusOr<std::unique_ptr<sink::Sink>> sink = parts_.make_sink();
  if (!sink.ok()) return OnSinkFailure(sink.status(), now);
  sink_ = *std::move(sink);
  absl::StatusOr<std::unique_ptr<capture::Source>> source = parts_.make_source(last_seen_, now);
  if (!source.ok()) return OnSourceFailure(source.status(), now);
  source_ = *std::move(source);
}

void Relay::NoteStreaming(MonotonicTime now) {
  if (streaming_noted_ || source_->state() != capture::SourceState::kStreaming) return;
  streaming_noted_ = true;
  streaming_since_ = now;
  last_seen_ = {*source_->identity(), source_->progress().confirmed};
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
  DropSource();
  sink_.reset();
}

void Relay::DropSource() {
  if (source_ == nullptr) return;
  Count();
  if (streaming_noted_) last_seen_->confirmed = source_->progress().confirmed;
  if (last_seen_ && source_->state() == capture::SourceState::kStandby) {
    last_seen_->held_by_another = true;
  }
  source_.reset();
}

// A server that fails at the same place each time with an error of its own will never send what
// follows: a row it can't print, text it can't convert.
absl::Status Relay::UnlessStuck(const absl::Status& status, MonotonicTime now) {
  if (source_ == nullptr || !capture::IsServerFault(status)) return status;
  const Lsn received = source_->progress().received;
  const bool again = received == failed_at_ && same_failures_ > 0;
  same_failures_ = again ? same_failures_ + 1 : 1;
  if (!again) failing_since_ = now;
  failed_at_ = received;
  if (same_failures_ < limits::kSameFailures || now - failing_since_ < limits::kSameFailing) {
    return status;
  }
  return WithHint(
      Error(absl::StatusCode::kDataLoss,
            absl::StrCat("the server can't send what follows ", FormatLsn(received), ", in ",
                         same_failures_, " attempts: ", status.message())),
      "its log names the row; pg_replication_slot_advance() past its transaction loses that "
      "transaction's events");
}

void Relay::OnSourceFailure(const absl::Status& cause, MonotonicTime now) {
  const absl::Status status = UnlessStuck(cause, now);
  least_backoff_ = source_ != nullptr && source_->server_is_stopping() ? limits::kShutdownBackoff
                                                                       : absl::ZeroDuration();
  // A password that worked before may be in rotation.
  const bool heals =
      IsTransient(status) || (last_seen_ && status.code() == absl::StatusCode::kUnauthenticated);
  if (status.code() == absl::StatusCode::kDataLoss) parts_.metrics->decode_errors.Increment();
  DropSource();  // at once: a server that shuts down waits for it
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
  // Disconnects that lie far apart are no series.
  if (streaming_noted_ && now - streaming_since_ > limits::kSteady) backoff_.Reset();
  phase_ = Phase::kSettling;
  wake_ = now + limits::kSettleGrace;
  if (sink_ != nullptr) sink_->BeginDrain();
}

void Relay::Settle(MonotonicTime now) {
  const bool failed = !TakeReceipts(now).ok();
  sink_failed_ = sink_failed_ || failed;
  if (source_ != nullptr && !source_->Tick(now, anything_unconfirmed()).ok()) DropSource();
  if (!sink_failed_ && sink_ != nullptr && !sink_->drained() && now < wake_) return;
  if (stopping_ && source_ != nullptr) {
    source_->BeginStop(now);  // what is delivered can still be confirmed
    phase_ = Phase::kFarewell;
    more_ = true;
    return;
  }
  EndSession();
  if (stopping_) return Finish();
  phase_ = Phase::kBackoff;
  wake_ = replay_at_once_ ? now : now + backoff_.Next(least_backoff_);
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
      DropSource();
    }
  }
  if (sink_ != nullptr && !sink_failed_ && !sink_->drained()) return;
  if (source_ != nullptr) source_->BeginStop(now);
  phase_ = Phase::kFarewell;
  more_ = true;
}

void Relay::Farewell(MonotonicTime now) {
  if (!TakeReceipts(now).ok()) sink_failed_ = true;
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
  DropSource();
  sink_.reset();
  phase_ = Phase::kStopped;
}

// --- One turn ---

void Relay::Run(MonotonicTime now) {
  if (const absl::Status status = TakeReceipts(now); !status.ok())
    return OnSinkFailure(status, now);
  // While messages are out, their receipts say better what happened.
  if (const absl::Status status = sink_->failure(); !status.ok() && window_.empty()) {
    return OnSinkFailure(status, now);
  }
  if (const absl::Status status = source_->Tick(now, anything_unconfirmed()); !status.ok()) {
    return OnSourceFailure(status, now);
  }
  NoteStreaming(now);
  ObserveConfirmation(now);
  Pump(now);
}

}  // namespace walpost
