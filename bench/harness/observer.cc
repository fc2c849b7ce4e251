#include "harness/observer.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/clock.h"
#include "base/status.h"
#include "harness/load.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

absl::StatusOr<rd_kafka_t*> MakeConsumer(const std::string& bootstrap) {
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const std::pair<const char*, std::string> settings[] = {
      {"bootstrap.servers", bootstrap},
      {"group.id", "walpost-bench"},
      {"enable.auto.commit", "false"},
      {"auto.offset.reset", "earliest"},
      {"socket.nagle.disable", "true"},
      {"reconnect.backoff.ms", "20"},
      {"reconnect.backoff.max.ms", "200"},
      {"fetch.error.backoff.ms", "20"},
      {"topic.metadata.refresh.fast.interval.ms", "50"},
      {"queued.max.messages.kbytes", "262144"},
      {"log_level", "0"}};
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return Error(absl::StatusCode::kInternal, error);
    }
  }
  rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
  if (consumer == nullptr) return Error(absl::StatusCode::kUnavailable, error);
  rd_kafka_poll_set_consumer(consumer);
  return consumer;
}

std::optional<std::int64_t> NumberOf(rd_kafka_message_t* message) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
      rd_kafka_header_get_last(headers, "id", &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (const auto number = NumberOfId({static_cast<const char*>(value), size})) return number;
  }
  return NumberInValue({static_cast<const char*>(message->payload), message->len});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Observer>> Observer::Start(const std::string& bootstrap,
                                                          const std::string& topic, int partitions,
                                                          std::int64_t events) {
  std::unique_ptr<Observer> observer(new Observer());
  ASSIGN_OR_RETURN(observer->consumer_, MakeConsumer(bootstrap));
  observer->deliveries_.sightings.resize(static_cast<std::size_t>(events));
  rd_kafka_topic_partition_list_t* assignment = rd_kafka_topic_partition_list_new(partitions);
  for (int p = 0; p < partitions; ++p) {
    rd_kafka_topic_partition_list_add(assignment, topic.c_str(), p)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  const rd_kafka_resp_err_t assigned = rd_kafka_assign(observer->consumer_, assignment);
  rd_kafka_topic_partition_list_destroy(assignment);
  if (assigned != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kUnavailable, rd_kafka_err2str(assigned));
  }
  observer->reader_ = std::thread([self = observer.get()] { self->Read(); });
  return observer;
}

Observer::~Observer() { Stop(); }

void Observer::Stop() {
  stopping_ = true;
  if (reader_.joinable()) reader_.join();
  if (consumer_ != nullptr) {
    rd_kafka_consumer_close(consumer_);
    rd_kafka_destroy(std::exchange(consumer_, nullptr));
  }
}

void Observer::Read() {
  while (!stopping_) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer_, 100);
    if (message == nullptr) continue;
    // Errors are the broker being away: librdkafka comes back by itself.
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) Note(message, MonotonicNow().nanoseconds());
    rd_kafka_message_destroy(message);
  }
}

void Observer::Note(rd_kafka_message_t* message, std::int64_t now) {
  last_arrival_.store(now, std::memory_order_relaxed);
  const std::optional<std::int64_t> number = NumberOf(message);
  if (!number || *number < 0 || *number >= std::ssize(deliveries_.sightings)) {
    ++deliveries_.strangers;
    return;
  }
  Sighting& sighting = deliveries_.sightings[static_cast<std::size_t>(*number)];
  if (++sighting.times > 1) return;
  sighting.seen = now;
  sighting.partition = message->partition;
  rd_kafka_timestamp_type_t kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  sighting.appended = rd_kafka_message_timestamp(message, &kind);
  deliveries_.arrivals.push_back(*number);
  delivered_.fetch_add(1, std::memory_order_relaxed);
}

bool Observer::WaitFor(std::int64_t count, absl::Duration rest, absl::Duration limit) const {
  const std::int64_t began = MonotonicNow().nanoseconds();
  for (;;) {
    if (delivered() >= count) return true;
    const std::int64_t now = MonotonicNow().nanoseconds();
    const absl::Duration quiet = absl::Nanoseconds(now - std::max(began, last_arrival()));
    if (quiet > rest) return true;
    // Once it is quiet, it is waited whether it stays so.
    if (absl::Nanoseconds(now - began) > limit && quiet < rest / 2) return false;
    SleepUntil(MonotonicNow() + absl::Milliseconds(10));
  }
}

absl::StatusOr<std::unique_ptr<OffsetCounter>> OffsetCounter::Start(const std::string& bootstrap,
                                                                    const std::string& topic,
                                                                    int partitions) {
  std::unique_ptr<OffsetCounter> counter(new OffsetCounter());
  ASSIGN_OR_RETURN(counter->client_, MakeConsumer(bootstrap));
  counter->topic_ = topic;
  counter->partitions_ = partitions;
  return counter;
}

OffsetCounter::~OffsetCounter() {
  if (client_ != nullptr) rd_kafka_destroy(client_);
}

std::int64_t OffsetCounter::Count() {
  std::int64_t sum = 0;
  for (int p = 0; p < partitions_; ++p) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t error =
        rd_kafka_query_watermark_offsets(client_, topic_.c_str(), p, &low, &high, 5000);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return last_;  // A leader that is being elected: the next look will tell.
    }
    sum += high;
  }
  last_ = sum;
  return sum;
}

}  // namespace walpost::bench
