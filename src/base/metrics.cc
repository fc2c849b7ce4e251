#include "base/metrics.h"

#include <array>
#include <cstddef>

#include "prometheus/text_serializer.h"

namespace walpost {
namespace {

struct Name {
  const char* name;
  const char* help;
};

constexpr Name kTransactionsReceived = {"walpost_transactions_received_total",
                                        "Transactions received from the slot."};
constexpr Name kMessagesReceived = {"walpost_messages_received_total",
                                    "Outbox events received from the slot."};
constexpr Name kMessagesDelivered = {"walpost_messages_delivered_total",
                                     "Messages that the sink acknowledged."};
constexpr Name kBytesDelivered = {"walpost_bytes_delivered_total",
                                  "Bytes of messages that the sink acknowledged."};
constexpr Name kMessagesRedelivered = {
    "walpost_messages_redelivered_total",
    "Messages handed to the sink again by this process, after a session ended."};
constexpr Name kMessagesFailed = {"walpost_messages_failed_total",
                                  "Messages that the sink or the encoder refused."};
constexpr Name kMessagesSkipped = {"walpost_messages_skipped_total",
                                   "Changes that were received and are not to be delivered."};
constexpr Name kDeadLetters = {"walpost_dead_letters_total",
                               "Events that were sent to the dead-letter topic."};
constexpr Name kMessagesWithoutKey = {"walpost_messages_without_key_total",
                                      "Messages without a key: nothing keeps their order."};
constexpr Name kHeadersDropped = {
    "walpost_headers_dropped_total",
    "Headers of rows that are reserved or not on routing.header_allowlist."};
constexpr Name kWalBytesReceived = {"walpost_wal_bytes_received_total",
                                    "Bytes of replication messages received."};
constexpr Name kReplicationReconnects = {"walpost_replication_reconnects_total",
                                         "Sessions that ended and were started again."};
constexpr Name kStatusUpdatesSent = {"walpost_status_updates_sent_total",
                                     "Standby status updates sent to the server."};
constexpr Name kDecodeErrors = {"walpost_decode_errors_total",
                                "Replication messages or rows that could not be decoded."};

constexpr Name kBuildInfo = {"walpost_build_info", "Always 1; the labels say what is running."};
constexpr Name kState = {"walpost_state", "1 for the state that the relay is in, else 0."};
constexpr Name kReplicationLagBytes = {
    "walpost_replication_lag_bytes",
    "End of WAL as the server last announced it minus the confirmed position."};
constexpr Name kReceivedLsn = {"walpost_received_lsn_bytes", "Newest WAL position received."};
constexpr Name kConfirmedLsn = {"walpost_confirmed_lsn_bytes",
                                "WAL position up to which everything is delivered and confirmed."};
constexpr Name kOldestUnacked = {
    "walpost_oldest_unacked_seconds",
    "Age of the oldest message without an acknowledgement; 0 if none."};
constexpr Name kCommitLag = {
    "walpost_commit_lag_seconds",
    "Time since the commit of the last delivered transaction; 0 while nothing is outstanding."};
constexpr Name kLastCommitDelivered = {"walpost_last_commit_delivered_timestamp_seconds",
                                       "Commit time of the last delivered transaction."};
constexpr Name kInflightMessages = {"walpost_inflight_messages",
                                    "Messages handed to the sink and not yet acknowledged."};
constexpr Name kInflightBytes = {"walpost_inflight_bytes",
                                 "Bytes handed to the sink and not yet acknowledged."};
constexpr Name kQueueLimit = {"walpost_queue_limit_messages",
                              "Messages that may be in flight before reading stops."};
constexpr Name kSlotActive = {"walpost_slot_active", "1 while this process streams from the slot."};
constexpr Name kRetainedWal = {"walpost_replication_retained_wal_bytes",
                               "WAL that the server keeps for the slot."};
constexpr Name kSafeWal = {
    "walpost_slot_safe_wal_bytes",
    "WAL that may still be written before the slot is lost; +Inf if there is no limit."};
constexpr Name kSlotWalStatus = {"walpost_slot_wal_status",
                                 "1 for the slot's wal_status as the server reports it, else 0."};

constexpr Name kReloadSuccess = {
    "walpost_config_last_reload_success",
    "1 if the configuration was accepted when it was read last, else 0."};
constexpr Name kReloadTime = {"walpost_config_last_reload_success_timestamp_seconds",
                              "When the configuration was accepted last."};

constexpr Name kEndToEnd = {
    "walpost_end_to_end_latency_seconds",
    "From commit, by the server's clock, to the sink's acknowledgement, by this host's."};
constexpr Name kStageLatency = {"walpost_stage_latency_seconds", "Time spent in one stage."};
constexpr Name kMessageSize = {"walpost_message_size_bytes",
                               "Size of messages handed to the sink."};
constexpr Name kTransactionMessages = {"walpost_transaction_messages",
                                       "Outbox events in one transaction."};
constexpr Name kBatchMessages = {
    "walpost_batch_messages", "Outbox events taken from the stream at a time, of one transaction."};

const prometheus::Histogram::BucketBoundaries& LatencyBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};
  return buckets;
}

// `first`, then each four times the one before.
prometheus::Histogram::BucketBoundaries FourTimes(double first, int count) {
  prometheus::Histogram::BucketBoundaries buckets = {first};
  while (std::ssize(buckets) < count) buckets.push_back(buckets.back() * 4);
  return buckets;
}

constexpr std::array<std::string_view, 5> kStates = {"starting", "standby", "streaming", "stalled",
                                                     "stopping"};
constexpr std::array<std::string_view, 6> kStages = {"receive", "decode", "encode",
                                                     "enqueue", "ack",    "confirm"};
constexpr std::array<std::string_view, 3> kSkipReasons = {"other_table", "other_kind", "replayed"};
constexpr std::array<std::string_view, 4> kWalStatuses = {"reserved", "extended", "unreserved",
                                                          "lost"};

auto& Counters(prometheus::Registry& registry, const Name& name) {
  return prometheus::BuildCounter().Name(name.name).Help(name.help).Register(registry);
}
auto& Gauges(prometheus::Registry& registry, const Name& name) {
  return prometheus::BuildGauge().Name(name.name).Help(name.help).Register(registry);
}
auto& Histograms(prometheus::Registry& registry, const Name& name) {
  return prometheus::BuildHistogram().Name(name.name).Help(name.help).Register(registry);
}
prometheus::Counter& OneCounter(prometheus::Registry& registry, const Name& name) {
  return Counters(registry, name).Add({});
}
prometheus::Gauge& OneGauge(prometheus::Registry& registry, const Name& name) {
  return Gauges(registry, name).Add({});
}

template <std::size_t kCount>
std::vector<prometheus::Gauge*> OneHot(prometheus::Registry& registry, const Name& name,
                                       const char* label,
                                       const std::array<std::string_view, kCount>& values) {
  std::vector<prometheus::Gauge*> gauges;
  gauges.reserve(kCount);
  auto& family = Gauges(registry, name);
  for (const std::string_view value : values) {
    gauges.push_back(&family.Add({{label, std::string(value)}}));
  }
  return gauges;
}

}  // namespace

std::string_view NameOf(RelayState state) { return kStates[static_cast<std::size_t>(state)]; }

Metrics::Metrics(const BuildInfo& build)
    : registry_(std::make_unique<prometheus::Registry>()),
      transactions_received(OneCounter(*registry_, kTransactionsReceived)),
      messages_received(OneCounter(*registry_, kMessagesReceived)),
      messages_redelivered(OneCounter(*registry_, kMessagesRedelivered)),
      wal_bytes_received(OneCounter(*registry_, kWalBytesReceived)),
      status_updates_sent(OneCounter(*registry_, kStatusUpdatesSent)),
      messages_without_key(OneCounter(*registry_, kMessagesWithoutKey)),
      headers_dropped(OneCounter(*registry_, kHeadersDropped)),
      decode_errors(OneCounter(*registry_, kDecodeErrors)),
      replication_lag_bytes(OneGauge(*registry_, kReplicationLagBytes)),
      received_lsn_bytes(OneGauge(*registry_, kReceivedLsn)),
      confirmed_lsn_bytes(OneGauge(*registry_, kConfirmedLsn)),
      oldest_unacked_seconds(OneGauge(*registry_, kOldestUnacked)),
      commit_lag_seconds(OneGauge(*registry_, kCommitLag)),
      last_commit_delivered_timestamp_seconds(OneGauge(*registry_, kLastCommitDelivered)),
      inflight_messages(OneGauge(*registry_, kInflightMessages)),
      inflight_bytes(OneGauge(*registry_, kInflightBytes)),
      queue_limit_messages(OneGauge(*registry_, kQueueLimit)),
      slot_active(OneGauge(*registry_, kSlotActive)),
      replication_retained_wal_bytes(OneGauge(*registry_, kRetainedWal)),
      slot_safe_wal_bytes(OneGauge(*registry_, kSafeWal)),
      config_last_reload_success(OneGauge(*registry_, kReloadSuccess)),
      config_last_reload_success_timestamp_seconds(OneGauge(*registry_, kReloadTime)),
      end_to_end_latency_seconds(Histograms(*registry_, kEndToEnd).Add({}, LatencyBuckets())),
      message_size_bytes(Histograms(*registry_, kMessageSize).Add({}, FourTimes(256, 9))),
      transaction_messages(Histograms(*registry_, kTransactionMessages).Add({}, FourTimes(1, 12))),
      batch_messages(Histograms(*registry_, kBatchMessages).Add({}, FourTimes(1, 9))),
      delivered_(Counters(*registry_, kMessagesDelivered)),
      delivered_bytes_(Counters(*registry_, kBytesDelivered)),
      failed_(Counters(*registry_, kMessagesFailed)),
      dead_letters_(Counters(*registry_, kDeadLetters)),
      skipped_(Counters(*registry_, kMessagesSkipped)),
      reconnects_(Counters(*registry_, kReplicationReconnects)),
      stage_latency_(Histograms(*registry_, kStageLatency)),
      states_(OneHot(*registry_, kState, "state", kStates)),
      wal_statuses_(OneHot(*registry_, kSlotWalStatus, "status", kWalStatuses)) {
  Gauges(*registry_, kBuildInfo)
      .Add({{"version", build.version},
            {"commit", build.commit},
            {"librdkafka", build.librdkafka},
            {"libpq", build.libpq}})
      .Set(1);
  // A series that appears only with its first event can't be alerted on.
  for (const std::string_view reason : kSkipReasons)
    skipped_.Add({{"reason", std::string(reason)}});
  SetState(RelayState::kStarting);
}

std::string Metrics::Render() const {
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

prometheus::Counter& Metrics::Delivered(std::string_view topic) {
  return delivered_.Add({{"topic", std::string(topic)}});
}

prometheus::Counter& Metrics::BytesDelivered(std::string_view topic) {
  return delivered_bytes_.Add({{"topic", std::string(topic)}});
}

prometheus::Counter& Metrics::Failed(std::string_view topic, std::string_view reason) {
  return failed_.Add({{"topic", std::string(topic)}, {"reason", std::string(reason)}});
}

prometheus::Counter& Metrics::DeadLetters(std::string_view topic) {
  return dead_letters_.Add({{"topic", std::string(topic)}});
}

prometheus::Counter& Metrics::Reconnects(std::string_view reason) {
  return reconnects_.Add({{"reason", std::string(reason)}});
}

prometheus::Counter& Metrics::Skipped(SkipReason reason) {
  return skipped_.Add({{"reason", std::string(kSkipReasons[static_cast<std::size_t>(reason)])}});
}

prometheus::Histogram& Metrics::StageLatency(Stage stage) {
  return stage_latency_.Add({{"stage", std::string(kStages[static_cast<std::size_t>(stage)])}},
                            LatencyBuckets());
}

void Metrics::SetState(RelayState state) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i]->Set(i == static_cast<std::size_t>(state) ? 1 : 0);
  }
}

void Metrics::SetSlotWalStatus(std::string_view wal_status) {
  for (std::size_t i = 0; i < wal_statuses_.size(); ++i) {
    wal_statuses_[i]->Set(kWalStatuses[i] == wal_status ? 1 : 0);
  }
}

}  // namespace walpost
