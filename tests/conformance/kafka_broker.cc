#include "kafka_broker.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"

namespace walpost::sink {
namespace {

constexpr std::int32_t kMockBroker = 1;
constexpr std::int16_t kProduce = 0;

struct CloseConsumer {
  void operator()(rd_kafka_t* consumer) const {
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
  }
};
using Consumer = std::unique_ptr<rd_kafka_t, CloseConsumer>;

Consumer MakeConsumer(const std::string& bootstrap) {
  char text[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const std::pair<const char*, std::string> properties[] = {
      {"bootstrap.servers", bootstrap},
      {"group.id", "walpost-conformance"},
      {"enable.auto.commit", "false"},
      {"auto.offset.reset", "earliest"},
  };
  for (const auto& [name, value] : properties) {
    WALPOST_CHECK(rd_kafka_conf_set(conf, name, value.c_str(), text, sizeof text) ==
                  RD_KAFKA_CONF_OK);
  }
  rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
  WALPOST_CHECK(consumer != nullptr);
  rd_kafka_poll_set_consumer(consumer);
  return Consumer(consumer);
}

int PartitionCount(rd_kafka_t* consumer, const std::string& topic) {
  rd_kafka_topic_t* handle = rd_kafka_topic_new(consumer, topic.c_str(), nullptr);
  const struct rd_kafka_metadata* metadata = nullptr;
  WALPOST_CHECK(rd_kafka_metadata(consumer, 0, handle, &metadata, 10'000) ==
                RD_KAFKA_RESP_ERR_NO_ERROR);
  const int count = metadata->topics[0].partition_cnt;
  rd_kafka_metadata_destroy(metadata);
  rd_kafka_topic_destroy(handle);
  return count;
}

std::string Bytes(const void* data, std::size_t size) {
  return std::string(static_cast<const char*>(data), size);
}

Record ToRecord(const rd_kafka_message_t& message) {
  Record record;
  if (message.key != nullptr) record.key = Bytes(message.key, message.key_len);
  if (message.payload != nullptr) record.value = Bytes(message.payload, message.len);
  record.timestamp_ms = rd_kafka_message_timestamp(&message, nullptr);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      record.headers.emplace_back(name, Bytes(value, size));
    }
  }
  return record;
}

}  // namespace

std::string TestKafka() {
  const char* bootstrap = std::getenv("WALPOST_TEST_KAFKA");
  return bootstrap ? bootstrap : "";
}

std::string UniqueTopic() {
  static int count = 0;
  return absl::StrCat("conformance.", absl::ToUnixMillis(absl::Now()), ".", getpid(), ".", ++count);
}

void CreateNarrowTopic(const std::string& bootstrap, const std::string& topic,
                       int max_message_bytes) {
  const Consumer client = MakeConsumer(bootstrap);
  char text[256];
  rd_kafka_NewTopic_t* spec = rd_kafka_NewTopic_new(topic.c_str(), 1, 1, text, sizeof text);
  rd_kafka_NewTopic_set_config(spec, "max.message.bytes", absl::StrCat(max_message_bytes).c_str());
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client.get());
  rd_kafka_CreateTopics(client.get(), &spec, 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 20'000);
  WALPOST_CHECK(event != nullptr && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewTopic_destroy(spec);
}

std::vector<Record> ConsumeTopic(const std::string& bootstrap, const std::string& topic,
                                 std::size_t count) {
  const Consumer consumer = MakeConsumer(bootstrap);
  const int partitions = PartitionCount(consumer.get(), topic);
  rd_kafka_topic_partition_list_t* assignment = rd_kafka_topic_partition_list_new(partitions);
  for (int i = 0; i < partitions; ++i) {
    rd_kafka_topic_partition_list_add(assignment, topic.c_str(), i)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  rd_kafka_assign(consumer.get(), assignment);
  rd_kafka_topic_partition_list_destroy(assignment);

  std::vector<Record> records;
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (absl::Now() < deadline && records.size() < count) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer.get(), 100);
    if (message == nullptr) continue;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) records.push_back(ToRecord(*message));
    rd_kafka_message_destroy(message);
  }
  // One too many would be here by now.
  rd_kafka_message_t* extra = rd_kafka_consumer_poll(consumer.get(), 200);
  if (extra != nullptr) {
    if (extra->err == RD_KAFKA_RESP_ERR_NO_ERROR) records.push_back(ToRecord(*extra));
    rd_kafka_message_destroy(extra);
  }
  return records;
}

MockKafka::MockKafka() {
  char text[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set_log_cb(conf, nullptr);
  client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
  WALPOST_CHECK(client_ != nullptr);
  cluster_ = rd_kafka_mock_cluster_new(client_, 1);
  WALPOST_CHECK(cluster_ != nullptr);
}

MockKafka::~MockKafka() {
  rd_kafka_mock_cluster_destroy(cluster_);
  rd_kafka_destroy(client_);
}

void MockKafka::CreateTopic(const std::string& name, int partitions) {
  WALPOST_CHECK(rd_kafka_mock_topic_create(cluster_, name.c_str(), partitions, 1) ==
                RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockKafka::FailProduce(const std::vector<rd_kafka_resp_err_t>& errors) {
  rd_kafka_mock_push_request_errors_array(cluster_, kProduce, errors.size(), errors.data());
}

void MockKafka::Forgive() { rd_kafka_mock_clear_request_errors(cluster_, kProduce); }

void MockKafka::SetTopicError(const std::string& name, rd_kafka_resp_err_t error) {
  rd_kafka_mock_topic_set_error(cluster_, name.c_str(), error);
}

void MockKafka::SetRoundTrip(int milliseconds) {
  rd_kafka_mock_broker_set_rtt(cluster_, kMockBroker, milliseconds);
}

void MockKafka::Down() { rd_kafka_mock_broker_set_down(cluster_, kMockBroker); }
void MockKafka::Up() { rd_kafka_mock_broker_set_up(cluster_, kMockBroker); }

}  // namespace walpost::sink
