// What the relay tells of itself: the report behind /status and /readyz, and its counters.
#include <algorithm>

#include "base/log.h"
#include "relay.h"

namespace walpost {

void Relay::Count() {
  if (source_ == nullptr) return;
  Metrics& metrics = *parts_.metrics;
  const capture::SourceProgress now = source_->progress();
  const auto add = [](prometheus::Counter& counter, std::uint64_t after, std::uint64_t before) {
    if (after > before) counter.Increment(static_cast<double>(after - before));
  };
  add(metrics.transactions_received, now.transactions, counted_.transactions);
  add(metrics.wal_bytes_received, now.bytes, counted_.bytes);
  add(metrics.status_updates_sent, now.status_updates, counted_.status_updates);
  add(metrics.Skipped(SkipReason::kOtherTable), now.ignored_changes, counted_.ignored_changes);
  add(metrics.messages_received, events_, 0);
  events_ = 0;
  counted_ = now;
  if (now.server > Lsn()) shown_ = now;
  const outbox::MessageCounters messages = parts_.builder->counters();
  if (messages.null_keys > 0 && counted_messages_.null_keys == 0) {
    log::Warning("events without a key: nothing keeps their order (routing.null_key)");
  }
  add(metrics.messages_without_key, messages.null_keys, counted_messages_.null_keys);
  add(metrics.headers_dropped, messages.dropped_headers, counted_messages_.dropped_headers);
  counted_messages_ = messages;
}

RelayState Relay::state() const {
  const capture::SourceState source =
      source_ != nullptr ? source_->state() : capture::SourceState::kConnecting;
  if (stopping_ || phase_ == Phase::kDraining || phase_ == Phase::kFarewell ||
      phase_ == Phase::kStopped) {
    return RelayState::kStopping;
  }
  if (phase_ != Phase::kRunning || source == capture::SourceState::kConnecting) {
    return last_seen_ ? RelayState::kStalled : RelayState::kStarting;
  }
  if (source == capture::SourceState::kStandby) return RelayState::kStandby;
  return sink_->health().ready ? RelayState::kStreaming : RelayState::kStalled;
}

RelayReport Relay::Report() {
  Count();
  RelayReport report;
  report.last_error = last_error_;
  report.delivered = Lsn(confirmer_.released().value_or(Position()).value);
  report.inflight_messages = window_.messages();
  report.inflight_bytes = window_.bytes();
  report.last_delivered_commit = last_delivered_commit_;
  if (!window_.empty()) {
    report.oldest_unacknowledged = parts_.clock() - window_.oldest().submitted;
    report.oldest_topic = topics_[window_.oldest().topic].name;
  }
  // Between sessions the last one's numbers stand: a lag doesn't vanish with a connection.
  report.progress = shown_;
  if (source_ != nullptr) report.identity = source_->identity();

  report.state = state();
  switch (report.state) {
    case RelayState::kStopping:
      report.reason = "stopping";
      break;
    case RelayState::kStandby:
      report.ready = true;
      break;
    case RelayState::kStarting:
    case RelayState::kStalled:
    case RelayState::kStreaming: {
      const bool streams = source_ != nullptr && phase_ == Phase::kRunning &&
                           source_->state() == capture::SourceState::kStreaming;
      const sink::SinkHealth health = streams ? sink_->health() : sink::SinkHealth();
      report.ready = health.ready;
      report.reason = streams               ? health.reason
                      : last_error_.empty() ? "connecting to Postgres"
                                            : last_error_;
      break;
    }
  }
  return report;
}

}  // namespace walpost
