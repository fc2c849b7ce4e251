#include "capture/wal/wal_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

constexpr absl::Duration kLoadWindow = absl::Milliseconds(2);
constexpr absl::Duration kProofInterval = absl::Milliseconds(20);
// No read for this long means that the relay had paused: the peer's silence was our own.
constexpr absl::Duration kPauseNoticed = absl::Seconds(2);

// What the relay may do about it: stop for what a retry can't heal, else start again.
absl::Status Classified(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInvalidArgument:
      return status;
    default:
      return PgError(absl::StatusCode::kUnavailable, SqlStateOf(status), MessageOf(status));
  }
}

// An error of the stream itself: what was there at the start is there no more.
absl::Status ClassifiedMidStream(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kFailedPrecondition) return Classified(status);
  return WithExitCode(
      WithHint(
          status,
          "the server can't decode past this point: slot and publication must be those that were "
          "there when the events were committed"),
      ExitCode::kData);
}

WatchOptions WatchOf(const WalSourceOptions& options) {
  PgOptions pg;
  pg.dsn = options.dsn;
  return {pg, {options.slot, options.publication, options.tables}};
}

}  // namespace

bool IsServerFault(const absl::Status& status) {
  const std::string kind = SqlStateOf(status).substr(0, 2);
  // Data exceptions (a character without an equivalent), internal errors, files of its own.
  return kind == "22" || kind == "XX" || kind == "58" || kind == "54";
}

WalSource::WalSource(const WalSourceOptions& options)
    : options_(options),
      watch_(WatchOf(options)),
      assembler_(options.tables, options.message_prefixes) {}

absl::StatusOr<std::unique_ptr<Source>> WalSource::Start(const WalSourceOptions& options,
                                                         MonotonicTime now) {
  std::unique_ptr<WalSource> source(new WalSource(options));
  RETURN_IF_ERROR(Classified(source->watch_.Start(now)));
  return std::unique_ptr<Source>(std::move(source));
}

void WalSource::AppendPolls(std::vector<pollfd>& polls, bool paused) const {
  watch_.AppendPolls(polls);
  if (connection_ == nullptr) return;
  const bool gathering = state_ == SourceState::kStreaming && gather_until_ > MonotonicTime();
  const pollfd stream = connection_->poll(!paused && !gathering);
  if (stream.fd >= 0) polls.push_back(stream);
}

MonotonicTime WalSource::deadline() const {
  MonotonicTime soonest = std::min(watch_.deadline(), connect_give_up_);
  // While a status is on its way the socket wakes us, not the timer of the next one.
  if (feedback_ && !connection_->flush_pending()) soonest = std::min(soonest, feedback_->due());
  if (gather_until_ > MonotonicTime()) soonest = std::min(soonest, gather_until_);
  return soonest;
}

absl::Status WalSource::Tick(MonotonicTime now, bool anything_unconfirmed) {
  if (state_ == SourceState::kStopped) return absl::OkStatus();
  RETURN_IF_ERROR(Classified(watch_.Tick(now)));
  if (std::optional<CatalogFacts> facts = watch_.TakeFacts()) RETURN_IF_ERROR(OnFacts(*facts, now));
  if (watch_.server_refuses() ||
      (watch_.server_is_stopping() && (anything_unconfirmed || connection_ == nullptr))) {
    // Its shutdown would wait for our session to end, or for us to confirm what we can't.
    return Error(absl::StatusCode::kUnavailable, "the server is shutting down");
  }
  if (connection_ == nullptr) return absl::OkStatus();
  if (!connection_->streaming()) return ServeHandshake(now);
  return state_ == SourceState::kStopping ? ServeStopping(now) : ServeStream(now);
}

absl::Status WalSource::OnFacts(const CatalogFacts& facts, MonotonicTime now) {
  facts_ = facts;
  if (state_ == SourceState::kStopping) {
    // The one proof there is: what the slot itself has stored.
    if (facts.slot.confirmed_flush_lsn >= feedback_->said()) {
      CloseStream();
    } else {
      watch_.LookAgain(now + kProofInterval);
    }
    return absl::OkStatus();
  }
  const bool ran = options_.last_seen || state_ == SourceState::kStreaming;
  RETURN_IF_ERROR(Judge(facts, ran ? Phase::kRunning : Phase::kStart));
  if (connection_ != nullptr) return absl::OkStatus();  // streaming, or about to
  if (facts.slot.active) {
    EnterStandby(now);
    return absl::OkStatus();
  }
  ConnectionOptions options;
  options.pg.dsn = options_.dsn;
  options.pg.address = watch_.address();
  options.slot = options_.slot;
  options.publication = options_.publication;
  options.messages = !options_.message_prefixes.empty();
  absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Start(std::move(options));
  RETURN_IF_ERROR(Classified(connection.status()));
  connection_ = *std::move(connection);
  connect_give_up_ = now + limits::kConnectTimeout;
  return absl::OkStatus();
}

void WalSource::EnterStandby(MonotonicTime now) {
  connection_.reset();
  connect_give_up_ = MonotonicTime::Never();
  if (state_ != SourceState::kStandby) watch_.ReopenAt(now + limits::kCheckInterval);
  state_ = SourceState::kStandby;
  watch_.LookAgain(now + limits::kStandbyInterval);
  if (std::exchange(stood_by_, true)) return;
  log::Info("the slot is held by another process: standing by",
            {{"slot", options_.slot},
             {"pid", facts_.slot.active_pid},
             {"application", facts_.slot.holder}});
}

absl::Status WalSource::ServeHandshake(MonotonicTime now) {
  const absl::Status status = connection_->Step();
  if (SqlStateOf(status) == "55006") {  // somebody was faster
    EnterStandby(now);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Classified(status));
  if (!connection_->streaming()) {
    if (now < connect_give_up_) return absl::OkStatus();
    return Error(absl::StatusCode::kUnavailable, "Postgres did not start streaming in time");
  }
  connect_give_up_ = MonotonicTime::Never();
  identity_ = connection_->identity();
  RETURN_IF_ERROR(CheckContinuity());
  feedback_.emplace(
      FeedbackOptions{.confirmed_flush = facts_.slot.confirmed_flush_lsn.value_or(Lsn()),
                      .wal_sender_timeout = connection_->wal_sender_timeout()},
      now);
  state_ = SourceState::kStreaming;
  watch_.ReopenAt(now + limits::kCheckInterval);
  log::Info("streaming", {{"slot", options_.slot},
                          {"database", identity_->database},
                          {"confirmed_flush_lsn", feedback_->said()},
                          {"server_lsn", connection_->xlogpos()}});
  return absl::OkStatus();
}

absl::Status WalSource::CheckContinuity() const {
  if (!options_.last_seen) return absl::OkStatus();
  Continuity facts{.slot = options_.slot,
                   .last = *options_.last_seen,
                   .identity = *identity_,
                   .xlogpos = connection_->xlogpos(),
                   .confirmed_flush_lsn = facts_.slot.confirmed_flush_lsn,
                   .held_by_another = stood_by_ || options_.last_seen->held_by_another};
  if (identity_->timeline > facts.last.identity.timeline) {
    log::Warning("the server has changed its timeline: a standby was promoted",
                 {{"from", facts.last.identity.timeline},
                  {"to", identity_->timeline},
                  {"confirmed", facts.last.confirmed},
                  {"server_lsn", facts.xlogpos}});
  }
  return JudgeContinuity(facts);
}

absl::Status WalSource::HandleNotices(MonotonicTime now) {
  for (const PgSession::Notice& notice : connection_->TakeNotices()) {
    // From version 18 on a missing publication is only this warning: rows are skipped silently.
    if (notice.sqlstate == "55000" && notice.function == "LoadPublications") {
      return WithExitCode(
          WithHint(
              Error(absl::StatusCode::kFailedPrecondition, notice.message),
              "rows committed while it was missing were not sent: compare the outbox table with "
              "the topics, then create the publication and a new slot with walpost setup"),
          ExitCode::kData);
    }
    if (notice == last_notice_ && now - noticed_ < limits::kNoticePeriod) continue;
    last_notice_ = notice;
    noticed_ = now;
    log::Warning("notice from the server",
                 {{"sqlstate", notice.sqlstate}, {"text", notice.message}});
  }
  return absl::OkStatus();
}

absl::Status WalSource::ServeStream(MonotonicTime now) {
  connection_->Readable();
  if (gather_until_ <= now) gather_until_ = MonotonicTime();
  RETURN_IF_ERROR(HandleNotices(now));
  if (connection_->flush_pending()) RETURN_IF_ERROR(connection_->Flush());
  // A status that is still on its way says enough; the next one will say more.
  if (now >= feedback_->due() && !connection_->flush_pending())
    RETURN_IF_ERROR(SayStatus(now, false));
  return absl::OkStatus();
}

absl::Status WalSource::SayStatus(MonotonicTime now, bool ask_for_proof) {
  StatusUpdate update = feedback_->Take(now);
  update.reply_requested = update.reply_requested || ask_for_proof;
  ++status_updates_;
  return connection_->Send(EncodeStatusUpdate(update, absl::Now()));
}

absl::StatusOr<bool> WalSource::TakeBatch(MonotonicTime now, Batch& batch) {
  batch.Clear();
  if (state_ != SourceState::kStreaming || gather_until_ > now) return false;
  gather_until_ = MonotonicTime();
  if (now - last_read_ > kPauseNoticed) feedback_->Heard(now);
  last_read_ = now;
  for (std::size_t frames = 1; frames <= limits::kFramesPerTurn; ++frames) {
    absl::StatusOr<std::optional<OwnedFrame>> frame = connection_->Next();
    RETURN_IF_ERROR(ClassifiedMidStream(frame.status()));
    if (!frame->has_value()) {
      CountForGathering(now, frames - 1);
      if (busy_) gather_until_ = now + limits::kGather;
      if (feedback_->dead(now)) {
        return Error(absl::StatusCode::kUnavailable, "the server has been silent for too long");
      }
      return false;
    }
    feedback_->Heard(now);
    absl::StatusOr<bool> complete = OnFrame(*std::move(*frame));
    RETURN_IF_ERROR(complete.status());
    if (*complete) {
      CountForGathering(now, frames);
      assembler_.Take(batch);
      return true;
    }
  }
  CountForGathering(now, limits::kFramesPerTurn);
  gather_until_ = now;  // there may be more: the socket won't say so of what libpq already holds
  return false;
}

// Frames in the window that began last, judged when it is over.
void WalSource::CountForGathering(MonotonicTime now, std::size_t frames) {
  window_frames_ += frames;
  const absl::Duration age = now - window_start_;
  if (age < kLoadWindow) {
    busy_ = busy_ || window_frames_ >= limits::kGatherFrames;
    return;
  }
  busy_ = age < 2 * kLoadWindow && window_frames_ >= limits::kGatherFrames;
  window_start_ = now;
  window_frames_ = 0;
}

absl::StatusOr<bool> WalSource::OnFrame(OwnedFrame frame) {
  bytes_ += frame.size;
  ASSIGN_OR_RETURN(const Frame parsed, ParseFrame(frame.bytes()));
  if (const auto* keepalive = std::get_if<Keepalive>(&parsed)) {
    feedback_->Announced(keepalive->wal_end);
    if (keepalive->reply_requested) feedback_->Requested();
    return assembler_.Add(*keepalive);
  }
  const auto& data = std::get<XLogData>(parsed);
  feedback_->Received(data.data_start);
  ASSIGN_OR_RETURN(const bool complete, assembler_.Add(data, std::move(frame)));
  if (complete) feedback_->Announced(assembler_.last_end_lsn());
  return complete;
}

void WalSource::Confirm(Position through) { feedback_->Confirm(Lsn(through.value)); }

void WalSource::BeginStop(MonotonicTime now) {
  const bool provable = state_ == SourceState::kStreaming && SayStatus(now, true).ok();
  state_ = provable ? SourceState::kStopping : SourceState::kStopped;
  watch_.LookAgain(now);
  watch_.ReopenAt(MonotonicTime::Never());
}

void WalSource::CloseStream() {
  state_ = SourceState::kStopped;
  feedback_.reset();
  connection_.reset();
}

absl::Status WalSource::ServeStopping(MonotonicTime now) {
  // The server reads the status only when it isn't stuck in sending: take and drop what comes.
  // Dropped rows are unconfirmed and come again.
  connection_->Readable();
  if (connection_->flush_pending()) RETURN_IF_ERROR(connection_->Flush());
  for (std::size_t i = 0; i < limits::kFramesPerTurn; ++i) {
    absl::StatusOr<std::optional<OwnedFrame>> frame = connection_->Next();
    RETURN_IF_ERROR(Classified(frame.status()));
    if (!frame->has_value()) break;
    const absl::StatusOr<Frame> parsed = ParseFrame((*frame)->bytes());
    // Without an ordinary connection the answer to the request must do.
    if (parsed.ok() && std::holds_alternative<Keepalive>(*parsed) && watch_.lost()) {
      CloseStream();
      return absl::OkStatus();
    }
  }
  if (now >= feedback_->due() && !connection_->flush_pending()) return SayStatus(now, true);
  return absl::OkStatus();
}

SourceProgress WalSource::progress() const {
  SourceProgress progress;
  if (feedback_) {
    progress.received = feedback_->received();
    progress.server = std::max(feedback_->announced(), facts_.server.wal_end);
    progress.confirmed = feedback_->said();
  } else if (state_ == SourceState::kStandby) {
    // What the other process does.
    progress.confirmed = progress.received = facts_.slot.confirmed_flush_lsn.value_or(Lsn());
    progress.server = facts_.server.wal_end;
  }
  progress.bytes = bytes_;
  progress.transactions = assembler_.transactions();
  progress.ignored_changes = assembler_.ignored_changes();
  progress.status_updates = status_updates_;
  if (facts_.slot.restart_lsn && facts_.server.wal_end > *facts_.slot.restart_lsn) {
    progress.retained_bytes = facts_.server.wal_end.value - facts_.slot.restart_lsn->value;
  }
  progress.safe_wal_bytes = facts_.slot.safe_wal_size;
  progress.wal_status = facts_.slot.wal_status;
  return progress;
}

}  // namespace walpost::capture
