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
#include "outbox/mapper.h"
#include "outbox/message_builder.h"
#include "sink/sink.h"
#include "watermark/ack_tracker.h"
#include "watermark/confirmer.h"
#include "watermark/window.h"

namespace walpost {

struct RelayOptions {
  std::size_t max_inflight_messages = 0;  // counted from the oldest unacknowledged one
  std::size_t max_inflight_bytes = 0;
  absl::Duration drain_timeout;  // from BeginStop() to kStopped
  std::uint64_t seed = 0;        // of the back-off's jitter
};

// What the relay is made of. Sessions come from the factories; the rest outlives the relay.
struct RelayParts {
  // `has_streamed`: this process had a stream before, so what is missing now has vanished.
  std::function<absl::StatusOr<std::unique_ptr<capture::Source>>(bool has_streamed, MonotonicTime)>
      make_source;
  std::function<absl::StatusOr<std::unique_ptr<sink::Sink>>()> make_sink;
  outbox::Mapper* mapper = nullptr;
  outbox::MessageBuilder* builder = nullptr;
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
  void BeginSettling(const absl::Status& why, MonotonicTime now);
  void BeginDrain(absl::Status why, MonotonicTime now);
  void Finish();

  void OnSourceFailure(const absl::Status& status, MonotonicTime now);
  void OnSinkFailure(const absl::Status& status, MonotonicTime now);
  void NoteStreaming();

  // Takes receipts and moves the confirmation. Returns the first failed receipt's status.
  absl::Status TakeReceipts(MonotonicTime now);
  void Landed(Ticket ticket, MonotonicTime now, absl::Time wall);
  // Rows from source to sink until something is full, nothing is left, or it is time to look
  // around.
  void Pump(MonotonicTime now);
  absl::StatusOr<Progress> TakeBatch();
  absl::StatusOr<Progress> SubmitRow(MonotonicTime now);
  // Must this row of batch_ travel alone?
  bool Singly(std::uint32_t index) const;
  absl::Status BuildMessage(const capture::Row& row, std::uint32_t index);
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
  bool has_streamed_ = false;
  bool stopping_ = false;
  MonotonicTime stop_deadline_ = MonotonicTime::Never();
  absl::Status outcome_;
  std::string last_error_;

  // The session.
  std::unique_ptr<capture::Source> source_;
  std::unique_ptr<sink::Sink> sink_;
  bool sink_failed_ = false;
  bool streaming_noted_ = false;
  watermark::AckTracker tracker_;
  watermark::Window window_;
  capture::Batch batch_;
  std::size_t cursor_ = 0;                  // next row of batch_
  Ticket ticket_;                           // of that row
  std::optional<outbox::Message> message_;  // of that row, once built: kFull doesn't build it again
  std::optional<watermark::Flight> last_;   // the row handled last
  bool full_ = false;
  bool more_ = false;         // Step() ended because of its turn's length, not for lack of work
  std::uint64_t events_ = 0;  // received in this session, not yet in the metrics
  capture::SourceProgress counted_;  // of this session, already in the metrics

  std::vector<sink::Receipt> receipts_;
  prometheus::Histogram& ack_latency_;
  std::vector<std::pair<std::string, prometheus::Counter*>> topics_;
  absl::flat_hash_map<std::string, std::uint32_t> topic_numbers_;
  std::optional<absl::Time> last_delivered_commit_;
};

}  // namespace walpost
