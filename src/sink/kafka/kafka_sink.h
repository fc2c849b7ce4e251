// The sink that produces to Kafka: idempotent and gapless, so that what the brokers hold of a
// session is a prefix, per partition, of what was accepted.
//
// Order: per topic and key. Durable: every in-sync replica has an acknowledged message (acks=all).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "sink/event_fd.h"
#include "sink/kafka/client_log.h"
#include "sink/kafka/handles.h"
#include "sink/kafka/producer_config.h"
#include "sink/kafka/token_command.h"
#include "sink/kafka/topic_resolver.h"
#include "sink/kafka/topic_table.h"
#include "sink/sink.h"

namespace walpost::sink::kafka {

// What a sink leaves for the next one: batches that suit every topic met so far, and how many
// partitions these had.
struct Memory {
  std::map<std::string, int, std::less<>> partitions;
  std::size_t batch_bytes = SafeBatchBytes(limits::kDefaultMaxMessageBytes);
};

// Thread: loop only. librdkafka's threads and the resolver's wake the loop through `ready_`.
class KafkaSink final : public Sink {
 public:
  KafkaSink(EventFd ready, ProducerHandle producer, bool create_topics, Memory& memory);
  ~KafkaSink() override;

  void UseTokens(std::unique_ptr<TokenCommand> tokens) { tokens_ = std::move(tokens); }
  rd_kafka_t* producer() { return producer_.get(); }

  // Opens a topic that will be needed, so that a missing one is known before its first message.
  absl::Status Expect(const std::string& topic);

  absl::StatusOr<Admission> Submit(Ticket ticket, const outbox::Message& message) override;
  void TakeReceipts(std::vector<Receipt>& receipts) override;
  int ready_fd() const override { return ready_.fd(); }
  void BeginDrain() override { draining_ = true; }
  bool drained() const override { return outstanding_ == 0; }
  absl::Status failure() const override { return failure_; }
  SinkHealth health() const override;
  SinkTraits traits() const override { return SinkTraits{true, false}; }

 private:
  // Null: not known yet.
  absl::StatusOr<Topic*> KnownTopic(std::string_view name);
  rd_kafka_resp_err_t Produce(Ticket ticket, const outbox::Message& message, Topic& topic,
                              std::int32_t partition);
  absl::Status Refused(rd_kafka_resp_err_t error, const outbox::Message& message);

  void TakeNews();
  void Suit(const Topic& topic);
  void TakeEvent(rd_kafka_event_t* event, std::vector<Receipt>& receipts);
  void TakeReports(rd_kafka_event_t* event, std::vector<Receipt>& receipts);
  absl::Status TakeReport(const rd_kafka_message_t& report);
  void TakeError(rd_kafka_event_t* event);
  absl::Status TakeFatal();
  void Connected();
  void RefusedCredentials(const char* text);
  void Fail(const absl::Status& cause, bool is_consequence);
  void Purge();

  Memory& memory_;
  // In the order in which they come to be; they go in the opposite one.
  EventFd ready_;
  ProducerHandle producer_;
  QueueHandle events_;
  TopicTable topics_;
  std::optional<TopicResolver> resolver_;
  std::unique_ptr<TokenCommand> tokens_;  // null without kafka.token_command

  std::set<std::string, std::less<>> expected_;  // asked for at the start, and not answered yet
  ClientLog client_log_;
  std::size_t outstanding_ = 0;
  MonotonicTime progress_;  // of the last receipt, or of the first message outstanding since
  bool draining_ = false;
  bool too_large_batches_ = false;  // for a topic met since: nothing more is taken
  bool connected_ = false;
  MonotonicTime refused_since_ = MonotonicTime::Never();
  std::string trouble_ = "no connection to a broker yet";  // while not connected; "" is "down"

  absl::Status failure_;  // of the sink; not OK: everything else is refused
  // failure_ says only that something failed; the report that says what is on its way.
  bool failure_is_consequence_ = false;
};

}  // namespace walpost::sink::kafka
