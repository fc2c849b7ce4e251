// Brokers for the tests: the real one that the environment names, and librdkafka's mock cluster.
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <memory>
#include <string>
#include <vector>

#include "subject.h"

namespace walpost::sink {

// HOST:PORT of the real broker, or empty.
std::string TestKafka();

// A name that no test has used before.
std::string UniqueTopic();

// A new topic with one partition that takes batches of `max_message_bytes` at most.
void CreateNarrowTopic(const std::string& bootstrap, const std::string& topic,
                       int max_message_bytes);

// All records of all partitions of a topic, by a plain consumer; order is kept within a partition.
// Returns when `count` are there, or what is there after 20 seconds.
std::vector<Record> ConsumeTopic(const std::string& bootstrap, const std::string& topic,
                                 std::size_t count);

// It doesn't check sequence numbers: what was in flight behind a rejected batch is delivered, which
// a real broker refuses. It creates a topic that is asked for.
class MockKafka {
 public:
  MockKafka();
  ~MockKafka();
  MockKafka(const MockKafka&) = delete;
  MockKafka& operator=(const MockKafka&) = delete;

  std::string bootstrap() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void CreateTopic(const std::string& name, int partitions);
  // The next Produce requests are answered by these errors (0 is success).
  void FailProduce(const std::vector<rd_kafka_resp_err_t>& errors);
  void Forgive();  // what FailProduce() left over
  // What metadata says of a topic.
  void SetTopicError(const std::string& name, rd_kafka_resp_err_t error);
  void SetRoundTrip(int milliseconds);
  void Down();
  void Up();

 private:
  rd_kafka_t* client_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace walpost::sink
