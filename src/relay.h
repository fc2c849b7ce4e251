// The relay: takes batches from a source, makes messages of their rows, gives them to a sink, and
// confirms what the sink has acknowledged. All decisions on order, back-pressure, recovery and
// stopping are here.
//
//   phase      who enters it                what is true in it
//   kRunning   BeginSession                 source and sink exist; rows travel once it streams
//   kSettling  a failure that heals         nothing new is taken; receipts are waited for, bounded
//   kBackoff   settled                      neither source nor sink exists
//   kDraining  asked to stop, or not healed nothing new is submitted; the sink empties
//   kFarewell  drained                      the source says the last confirmation
//   kStopped   said, or out of time         outcome() is final
//
// One recovery path: whatever fails, the session ends and a new one replays from the slot's own
// position. Above the sink nothing is sent again; what this process knows to be delivered is passed
// over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/retry.h"
#include "capture/source.h"
#include "outbox/event_reader.h"
#include "outbox/message_builder.h"
#include "poison_policy.h"
#include "sink/sink.h"
#include "watermark/ack_tracker.h"
#include "watermark/confirmer.h"
#include "watermark/window.h"

namespace walpost {

// May a new session heal it?
inline bool IsTransient(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kAborted ||
         status.code() == absl::StatusCode::kDeadlineExceeded;
}

struct RelayOptions {
  std::size_t max_inflight_messages = 0;  // counted from the oldest unacknowledged one
  std::size_t max_inflight_bytes = 0;
  absl::Duration drain_timeout;  // from BeginStop() to kStopped
  std::uint64_t seed = 0;        // of the back-off's jitter
};

// What the relay is made of. Sessions come from the factories; the rest outlives the relay.
struct RelayParts {
  // `last`: of this process's last stream, if it had one.
  std::function<absl::StatusOr<std::unique_ptr<capture::Source>>(
      const std::optional<capture::LastSeen>& last, MonotonicTime)>
      make_source;
  std::function<absl::StatusOr<std::unique_ptr<sink::Sink>>()> make_sink;
  outbox::EventReader* reader = nullptr;
  outbox::MessageBuilder* builder = nullptr;
  PoisonPolicy* poison = nullptr;
  Metrics* metrics = nullptr;
  std::function<MonotonicTime()> clock = MonotonicNow;
};

// What /status, /readyz and the gauges show.
struct RelayReport {
  RelayState state = RelayState::kStarting;
  bool ready = false;
  std::string reason;  // why not ready; empty when ready
  capture::SourceProgress progress;
  Lsn delivered;  // everything before it is acknowledged
  std::size_t inflight_messages = 0;
  std::size_t inflight_bytes = 0;
  absl::Duration oldest_unacknowledged;             // since it was submitted; zero if none
  std::string oldest_topic;                         // of that message
  std::optional<absl::Time> last_delivered_commit;  // commit time of the newest acknowledged event
  std::optional<capture::Identity> identity;
  std::string last_error;
};

// Thread: loop only.
class Relay {
 public:
  Relay(const RelayOptions& options, RelayParts parts);

  // The loop: poll what AppendPolls() names until deadline(), then Step(). Step never blocks.
  void AppendPolls(std::vector<pollfd>& polls) const;
  MonotonicTime deadline() const;
  void Step();

  // Drain, say the last confirmation, and stop; the open transaction is read to its end first.
  void BeginStop();

  bool stopped() const { return phase_ == Phase::kStopped; }
  // OK: drained as asked. Else why it stopped, with exit code and HINT. Requires: stopped().
  const absl::Status& outcome() const { return outcome_; }

  RelayState state() const;
  // Also brings the counters up to date.
  RelayReport Report();

 private:
  enum class Phase { kRunning, kSettling, kBackoff, kDraining, kFarewell, kStopped };
  enum class Progress { kMore, kNothing, kFull };

  // Each serves one turn of its phase.
  void Run(MonotonicTime now);
  void Settle(MonotonicTime now);
  void Drain(MonotonicTime now);
  void Farewell(MonotonicTime now);

  void BeginSession(MonotonicTime now);
  void EndSession();
  void DropSource();
  void BeginSettling(const absl::Status& why, MonotonicTime now);
  void BeginDrain(absl::Status why, MonotonicTime now);
  void Finish();

  absl::Status UnlessStuck(const absl::Status& status, MonotonicTime now);
  void OnSourceFailure(const absl::Status& cause, MonotonicTime now);
  void OnSinkFailure(const absl::Status& status, MonotonicTime now);
  void NoteStreaming(MonotonicTime now);

  // Takes receipts and moves the confirmation. Returns the first failed receipt's status.
  absl::Status TakeReceipts(MonotonicTime now);
  void Landed(Ticket ticket, MonotonicTime now, absl::Time wall);
  // A receipt that isn't OK: what follows from it.
  absl::Status Refused(const sink::Receipt& receipt);
  // Rows from source to sink until something is full, nothing is left, or it is time to look
  // around.
  void Pump(MonotonicTime now);
  absl::StatusOr<Progress> TakeBatch();
  absl::StatusOr<Progress> SubmitRow(MonotonicTime now);
  // Must this event travel alone?
  bool Singly(const capture::Transaction& transaction, std::uint32_t index) const;
  // Makes message_ of the row at the cursor: for its topic, or for the dead-letter topic.
  absl::Status BuildMessage(std::uint32_t index);
  void ObserveConfirmation(MonotonicTime now);
  absl::Status Divert(const absl::Status& error, bool condemned, bool keep_content,
                      const outbox::Origin& origin);
  outbox::Origin OriginOf(std::uint32_t index) const;
  // For messages about the row that was read last.
  std::string EventName(std::uint32_t index) const;
  std::uint32_t TopicNumber(std::string_view topic);
  // Adds to the metrics what the session did since the last call.
  void Count();
  bool anything_unconfirmed() const { return tracker_.anything_unacknowledged(); }

  const RelayOptions options_;
  const RelayParts parts_;
  Phase phase_ = Phase::kBackoff;
  MonotonicTime wake_;  // end of kBackoff, or the deadline of kSettling
  Backoff backoff_;
  absl::Duration least_backoff_;  // a server that shuts down is left alone for longer
  watermark::Confirmer confirmer_;
  // The broker rejected a batch of several: up to this event the replay sends one at a time, so
  // that the rejected one is known and no other pays for it.
  std::optional<watermark::Flight> singly_until_;
  bool replay_at_once_ = false;  // a rejection: nothing is overloaded or away
  std::optional<capture::LastSeen> last_seen_;
  std::optional<std::pair<Lsn, std::uint32_t>> furthest_;  // place that this process submitted
  Lsn failed_at_;  // where the server failed by itself, so many times in a row
  int same_failures_ = 0;
  MonotonicTime failing_since_;
  bool stopping_ = false;
  MonotonicTime stop_deadline_ = MonotonicTime::Never();
  absl::Status outcome_;
  std::string last_error_;

  // The session.
  std::unique_ptr<capture::Source> source_;
  std::unique_ptr<sink::Sink> sink_;
  bool sink_failed_ = false;
  bool streaming_noted_ = false;
  MonotonicTime streaming_since_;
  watermark::AckTracker tracker_;
  watermark::Window window_;
  capture::Batch batch_;
  MonotonicTime batch_taken_;
  std::size_t cursor_ = 0;                  // next row of batch_
  Ticket ticket_;                           // of that row
  std::optional<outbox::Message> message_;  // of that row, once built: kFull doesn't build it again
  bool diverted_content_ = false;           // and holds key and value as they were meant
  bool diverted_ = false;                   // message_ is a dead letter
  std::optional<watermark::Flight> last_;   // the row handled last
  std::optional<std::pair<Position, MonotonicTime>> unsaid_;  // to be confirmed, since when
  bool full_ = false;
  bool more_ = false;         // Step() ended because of its turn's length, not for lack of work
  std::uint64_t events_ = 0;  // received in this session, not yet in the metrics
  capture::SourceProgress counted_;           // of this session, already in the metrics
  capture::SourceProgress shown_;             // the newest that knew where the server is
  outbox::MessageCounters counted_messages_;  // of the process, likewise

  std::vector<sink::Receipt> receipts_;
  prometheus::Histogram& receive_latency_;
  prometheus::Histogram& decode_latency_;
  prometheus::Histogram& encode_latency_;
  prometheus::Histogram& enqueue_latency_;
  prometheus::Histogram& ack_latency_;
  prometheus::Histogram& confirm_latency_;
  struct Topic {
    std::string name;
    prometheus::Counter* delivered;
    prometheus::Counter* bytes;
  };
  std::vector<Topic> topics_;
  absl::flat_hash_map<std::string, std::uint32_t> topic_numbers_;
  std::optional<absl::Time> last_delivered_commit_;
};

}  // namespace walpost
