// The way of the rows and receipts through the relay; sessions and phases are relay.cc's.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"
#include "relay.h"

namespace walpost {
namespace {

std::string EventPosition(const capture::Transaction& transaction, std::uint32_t index) {
  return std::string(outbox::TextOf(outbox::FormatPosition(transaction.commit_lsn, index)));
}

}  // namespace

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
      const absl::Status refused = Refused(receipt);
      // What was purged after a rejection says less than the rejection.
      if (failure.ok() || (IsTransient(failure) && !IsTransient(refused))) failure = refused;
    }
  }
  window_.PopBefore(tracker_.first_unacknowledged());
  if (const std::optional<Position> through = confirmer_.Advance(tracker_.watermark())) {
    parts_.poison->Forget(*through);
    if (source_ != nullptr) {
      source_->Confirm(*through);
      if (!unsaid_) unsaid_ = {*through, now};
    }
  }
  return failure;
}

// The oldest confirmation that the server hasn't been told yet.
void Relay::ObserveConfirmation(MonotonicTime now) {
  if (!unsaid_ || source_->progress().confirmed.value < unsaid_->first.value) return;
  confirm_latency_.Observe(absl::ToDoubleSeconds(now - unsaid_->second));
  unsaid_.reset();
}

absl::Status Relay::Refused(const sink::Receipt& receipt) {
  const watermark::Flight& flight = window_.at(receipt.ticket);
  const std::string& topic = topics_[flight.topic].name;
  const absl::StatusCode code = receipt.status.code();
  parts_.metrics->Failed(topic, absl::StatusCodeToString(code)).Increment();
  const absl::Status status = WithContext(
      receipt.status, absl::StrCat("event ", EventPosition(flight.transaction, flight.index)));
  const Lsn commit_lsn = flight.transaction.commit_lsn;
  if (code == absl::StatusCode::kAborted) {
    replay_at_once_ = !Singly(flight.transaction, flight.index);
    singly_until_ = last_;
  }
  if (code != absl::StatusCode::kInvalidArgument) return status;
  if (!parts_.poison->Remember(commit_lsn, flight.index, topic, receipt.status)) {
    return parts_.poison->Stop(status, commit_lsn, flight.index);
  }
  replay_at_once_ = true;
  return Error(absl::StatusCode::kAborted, MessageOf(status));
}

void Relay::Landed(Ticket ticket, MonotonicTime now, absl::Time wall) {
  const watermark::Flight& flight = window_.at(ticket);
  topics_[flight.topic].delivered->Increment();
  topics_[flight.topic].bytes->Increment(static_cast<double>(flight.bytes));
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
  const MonotonicTime before = parts_.clock();
  ASSIGN_OR_RETURN(const bool taken, source_->TakeBatch(before, batch_));
  cursor_ = 0;
  if (!taken) return Progress::kNothing;
  events_ += batch_.size();
  if (!batch_.empty()) {
    parts_.metrics->batch_messages.Observe(static_cast<double>(batch_.size()));
    batch_taken_ = parts_.clock();
    decode_latency_.Observe(absl::ToDoubleSeconds(batch_taken_ - before));
    receive_latency_.Observe(absl::ToDoubleSeconds(absl::Now() - batch_.transaction.commit_time));
  }
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
  if (!message_) {
    const bool first = cursor_ == 0;
    const MonotonicTime begin = first ? parts_.clock() : MonotonicTime();
    RETURN_IF_ERROR(BuildMessage(index));
    if (first) encode_latency_.Observe(absl::ToDoubleSeconds(parts_.clock() - begin));
  }
  const std::size_t bytes = message_->size();
  if (!window_.HasRoom(bytes)) return Progress::kFull;
  if (!window_.empty() && Singly(batch_.transaction, index)) return Progress::kFull;
  absl::StatusOr<sink::Admission> admission = sink_->Submit(ticket_, *message_);
  if (!admission.ok()) {
    const absl::Status status = WithContext(admission.status(), EventName(index));
    sink_failed_ = status.code() != absl::StatusCode::kInvalidArgument;
    if (sink_failed_) return status;
    if (!diverted_) {
      RETURN_IF_ERROR(Divert(status, false, false, OriginOf(index)));
      return Progress::kMore;
    }
    // A dead letter that is too large itself goes without its content.
    if (!std::exchange(diverted_content_, false)) return status;
    message_ = parts_.poison->WithoutContent();
    return Progress::kMore;
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
  if (furthest_ < flight.place()) {
    furthest_ = flight.place();
  } else {
    parts_.metrics->messages_redelivered.Increment();
  }
  ticket_ = Ticket(ticket_.value + 1);
  message_.reset();
  if (++cursor_ == batch_.size()) {
    enqueue_latency_.Observe(absl::ToDoubleSeconds(parts_.clock() - batch_taken_));
  }
  return Progress::kMore;
}

std::string Relay::EventName(std::uint32_t index) const {
  const std::string_view id = outbox::ShownId(parts_.reader->event_id());
  return absl::StrCat("event ", EventPosition(batch_.transaction, index),
                      id.empty() ? "" : absl::StrCat(" (id '", ToAbsl(id), "')"));
}

bool Relay::Singly(const capture::Transaction& transaction, std::uint32_t index) const {
  return singly_until_ && std::pair(transaction.commit_lsn, index) <= singly_until_->place();
}

outbox::Origin Relay::OriginOf(std::uint32_t index) const {
  const capture::Identity& identity = *source_->identity();
  return {.system_identifier = identity.system_identifier,
          .timeline = identity.timeline,
          .database = identity.database,
          .relation = parts_.reader->relation_name(),
          .message_prefix = parts_.reader->message_prefix(),
          .xid = batch_.transaction.xid,
          .commit_lsn = batch_.transaction.commit_lsn,
          .index = index,
          .committed_at = batch_.transaction.commit_time};
}

absl::Status Relay::BuildMessage(std::uint32_t index) {
  diverted_ = false;
  const absl::StatusOr<outbox::Event> event = parts_.reader->Read(batch_.row(cursor_));
  const outbox::Origin origin = OriginOf(index);
  absl::Status status = event.status();
  if (event.ok()) {
    absl::StatusOr<outbox::Message> message = parts_.builder->Build(*event, origin);
    status = message.status();
    if (message.ok()) message_ = *message;
  }
  const std::optional<std::string> condemned =
      parts_.poison->Condemned(parts_.reader->event_id(), origin);
  if (status.ok() && !condemned) return absl::OkStatus();
  // Of a table that gives no events at all, dead letters would hold nothing: only what is named goes.
  if (status.code() == absl::StatusCode::kFailedPrecondition && !condemned) {
    return parts_.poison->Stop(WithContext(status, EventName(index)), origin.commit_lsn, index);
  }
  if (condemned && status.ok()) status = Error(absl::StatusCode::kInvalidArgument, *condemned);
  return Divert(
      WithContext(status, absl::StrCat("event ", EventPosition(batch_.transaction, index))),
      condemned.has_value(), message_.has_value(), origin);
}

absl::Status Relay::Divert(const absl::Status& error, bool condemned, bool keep_content,
                           const outbox::Origin& origin) {
  const std::string meant(message_ ? message_->topic : std::string_view("(none)"));
  if (!condemned) parts_.metrics->Failed(meant, absl::StatusCodeToString(error.code())).Increment();
  ASSIGN_OR_RETURN(message_, parts_.poison->Divert(error, condemned, message_, keep_content,
                                                   parts_.reader->event_id(), origin));
  diverted_ = true;
  diverted_content_ = keep_content;
  parts_.metrics->DeadLetters(parts_.poison->topic()).Increment();
  return absl::OkStatus();
}

std::uint32_t Relay::TopicNumber(std::string_view topic) {
  if (last_ && last_->topic < topics_.size() && topics_[last_->topic].name == topic) {
    return last_->topic;
  }
  if (const auto found = topic_numbers_.find(ToAbsl(topic)); found != topic_numbers_.end()) {
    return found->second;
  }
  // The last number stands for all topics that came too late for one of their own.
  const bool full = topics_.size() >= limits::kTopicLabels;
  if (full && topics_.size() > limits::kTopicLabels) return limits::kTopicLabels;
  const auto number = static_cast<std::uint32_t>(topics_.size());
  const std::string name(full ? "(other)" : topic);
  topics_.push_back(
      {name, &parts_.metrics->Delivered(name), &parts_.metrics->BytesDelivered(name)});
  if (!full) topic_numbers_.emplace(name, number);
  return number;
}

}  // namespace walpost
