#include "harness/producer.h"

#include <librdkafka/rdkafka.h>

#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace walpost::bench {

struct ProducerCallback {
  static void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto* producer = static_cast<Producer*>(opaque);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      producer->failure_.Update(
          Error(absl::StatusCode::kUnavailable, rd_kafka_err2str(message->err)));
    } else if (producer->on_ack_) {
      producer->on_ack_(
          static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(message->_private)),
          MonotonicNow().nanoseconds());
    }
  }
};

absl::StatusOr<std::unique_ptr<Producer>> Producer::Start(
    const std::string& bootstrap, const std::string& topic,
    std::function<void(std::int64_t, std::int64_t)> on_ack) {
  std::unique_ptr<Producer> producer(new Producer());
  producer->on_ack_ = std::move(on_ack);
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const std::pair<const char*, std::string> settings[] = {{"bootstrap.servers", bootstrap},
                                                          {"enable.idempotence", "true"},
                                                          {"acks", "all"},
                                                          {"compression.type", "lz4"},
                                                          {"linger.ms", "0"},
                                                          {"socket.nagle.disable", "true"},
                                                          {"partitioner", "murmur2_random"},
                                                          {"message.timeout.ms", "0"},
                                                          {"log_level", "0"}};
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return Error(absl::StatusCode::kInternal, error);
    }
  }
  rd_kafka_conf_set_opaque(conf, producer.get());
  rd_kafka_conf_set_dr_msg_cb(conf, &ProducerCallback::OnDelivery);
  producer->client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (producer->client_ == nullptr) return Error(absl::StatusCode::kUnavailable, error);
  producer->topic_ = rd_kafka_topic_new(producer->client_, topic.c_str(), nullptr);
  return producer;
}

Producer::~Producer() {
  if (topic_ != nullptr) rd_kafka_topic_destroy(topic_);
  if (client_ != nullptr) {
    rd_kafka_purge(client_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy(client_);
  }
}

absl::Status Producer::Send(std::int64_t number, std::string_view id, std::string_view key,
                            std::string_view value) {
  // Not rd_kafka_producev: its macros are of GNU's dialect.
  rd_kafka_vu_t parts[6] = {};
  parts[0].vtype = RD_KAFKA_VTYPE_RKT;
  parts[0].u.rkt = topic_;
  parts[1].vtype = RD_KAFKA_VTYPE_KEY;
  parts[1].u.mem = {const_cast<char*>(key.data()), key.size()};
  parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[2].u.mem = {const_cast<char*>(value.data()), value.size()};
  parts[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[3].u.i = RD_KAFKA_MSG_F_COPY;
  parts[4].vtype = RD_KAFKA_VTYPE_HEADER;
  parts[4].u.header = {"id", id.data(), static_cast<ssize_t>(id.size())};
  parts[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[5].u.ptr = reinterpret_cast<void*>(static_cast<std::intptr_t>(number));
  for (;;) {
    rd_kafka_error_t* error = rd_kafka_produceva(client_, parts, std::size(parts));
    if (error == nullptr) return failure_;
    const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      failure_.Update(Error(absl::StatusCode::kUnavailable, rd_kafka_err2str(code)));
      return failure_;
    }
    rd_kafka_poll(client_, 10);
  }
}

void Producer::Poll(absl::Duration limit) {
  rd_kafka_poll(client_, static_cast<int>(absl::ToInt64Milliseconds(limit)));
}

absl::Status Producer::Flush() {
  if (rd_kafka_flush(client_, 60'000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kDeadlineExceeded,
                 "messages without acknowledgement after a minute");
  }
  return failure_;
}

}  // namespace walpost::bench
