// What Prometheus sees: the instruments of the relay, in one place.
//
// Names and help texts are constants of metrics.cc. Labels are bounded: topics come from
// configuration and an allow-list, everything else is one of a few words; never an id, a key, a
// partition or an xid.
//
// Four numbers are the lag: received_lsn, delivered (last_commit_delivered), confirmed_lsn, and
// end_to_end_latency.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace walpost {

// The process as a whole; one of them is 1 in walpost_state.
enum class RelayState { kStarting, kStandby, kStreaming, kStalled, kStopping };
std::string_view NameOf(RelayState state);

// Where the time of a message goes; the stages of walpost_stage_latency_seconds. All but kReceive
// are measured by the monotonic clock.
enum class Stage {
  kReceive,  // commit, by the server's clock, to the batch being taken, by this host's; per batch
  kDecode,   // taking a batch: parsing its frames; per batch
  kEncode,   // row to message, of the first event of each batch
  kEnqueue,  // batch taken to all of it accepted by the sink: grows with back-pressure; per batch
  kAck,      // accepted to acknowledged; per message
  kConfirm,  // acknowledged to said to the server; per confirmation
};

// Why something didn't become a delivered message. Label values.
enum class SkipReason {
  kOtherTable,  // of a table that is no outbox
  kOtherKind,   // an UPDATE, DELETE or TRUNCATE
  kReplayed,    // delivered before, passed over at the replay
};

// Thread: any; each instrument is atomic or has a lock of its own. References stay valid as long as
// the object.
class Metrics {
 private:
  // Declared first: every reference below points into it.
  std::unique_ptr<prometheus::Registry> registry_;

 public:
  struct BuildInfo {
    std::string version;
    std::string commit;
    std::string librdkafka;
    std::string libpq;
  };
  explicit Metrics(const BuildInfo& build);

  // The text format of Prometheus 0.0.4, for /metrics.
  std::string Render() const;
  static std::string_view content_type() { return "text/plain; version=0.0.4; charset=utf-8"; }

  // Each looks its labels up under a lock: callers on a hot path keep the reference.
  prometheus::Counter& Delivered(std::string_view topic);
  prometheus::Counter& BytesDelivered(std::string_view topic);
  prometheus::Counter& Failed(std::string_view topic, std::string_view reason);
  prometheus::Counter& DeadLetters(std::string_view topic);
  prometheus::Counter& Reconnects(std::string_view reason);
  prometheus::Counter& Skipped(SkipReason reason);
  prometheus::Histogram& StageLatency(Stage stage);

  // Exactly one state is 1.
  void SetState(RelayState state);
  // As pg_replication_slots has it: reserved, extended, unreserved, lost. Any other: all are 0.
  void SetSlotWalStatus(std::string_view wal_status);

  prometheus::Counter& transactions_received;
  prometheus::Counter& messages_received;
  prometheus::Counter& messages_redelivered;
  prometheus::Counter& wal_bytes_received;
  prometheus::Counter& status_updates_sent;
  prometheus::Counter& messages_without_key;
  prometheus::Counter& headers_dropped;
  prometheus::Counter& decode_errors;

  prometheus::Gauge& replication_lag_bytes;
  prometheus::Gauge& received_lsn_bytes;
  prometheus::Gauge& confirmed_lsn_bytes;
  prometheus::Gauge& oldest_unacked_seconds;
  prometheus::Gauge& commit_lag_seconds;  // 0 while idle: an idle outbox is not late
  prometheus::Gauge& last_commit_delivered_timestamp_seconds;
  prometheus::Gauge& inflight_messages;
  prometheus::Gauge& inflight_bytes;
  prometheus::Gauge& queue_limit_messages;
  prometheus::Gauge& slot_active;
  prometheus::Gauge& replication_retained_wal_bytes;
  prometheus::Gauge& slot_safe_wal_bytes;
  prometheus::Gauge& config_last_reload_success;
  prometheus::Gauge& config_last_reload_success_timestamp_seconds;

  prometheus::Histogram& end_to_end_latency_seconds;
  prometheus::Histogram& message_size_bytes;
  prometheus::Histogram& transaction_messages;
  prometheus::Histogram& batch_messages;

 private:
  prometheus::Family<prometheus::Counter>& delivered_;
  prometheus::Family<prometheus::Counter>& delivered_bytes_;
  prometheus::Family<prometheus::Counter>& failed_;
  prometheus::Family<prometheus::Counter>& dead_letters_;
  prometheus::Family<prometheus::Counter>& skipped_;
  prometheus::Family<prometheus::Counter>& reconnects_;
  prometheus::Family<prometheus::Histogram>& stage_latency_;
  std::vector<prometheus::Gauge*> states_;        // in the order of RelayState
  std::vector<prometheus::Gauge*> wal_statuses_;  // in the order of metrics.cc's table
};

}  // namespace walpost
