// A broker to try walpost against, without Kafka: librdkafka's mock cluster, for the demo and for
// the error codes that a real broker doesn't give on demand. It holds at most 5 MiB or 100,000
// messages of a partition, creates a topic that is asked for (4 partitions), and knows neither
// topic administration nor TLS nor sequence numbers.
//
// Prints `bootstrap=HOST:PORT`, then `ready`. Takes commands on standard input, each answered by
// `ok` or `error: …`, and ends with its input:
//
//   topic NAME PARTITIONS        create a topic with so many partitions
//   error APIKEY CODE [COUNT]    the next COUNT (1) requests of that kind fail: 0 is Produce
//   rtt MILLISECONDS             answers take that long
//   down | up                    drop connections and refuse new ones; accept them again
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::int32_t kBroker = 1;

struct DestroyClient {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
struct DestroyCluster {
  void operator()(rd_kafka_mock_cluster_t* cluster) const {
    rd_kafka_mock_cluster_destroy(cluster);
  }
};
using Client = std::unique_ptr<rd_kafka_t, DestroyClient>;
using Cluster = std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster>;

std::string Answer(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_NO_ERROR ? "ok"
                                             : std::string("error: ") + rd_kafka_err2str(error);
}

std::string CreateTopic(rd_kafka_mock_cluster_t* cluster, std::istringstream& arguments) {
  std::string name;
  int partitions = 0;
  if (!(arguments >> name >> partitions) || partitions < 1) return "error: topic NAME PARTITIONS";
  return Answer(rd_kafka_mock_topic_create(cluster, name.c_str(), partitions, 1));
}

std::string PushErrors(rd_kafka_mock_cluster_t* cluster, std::istringstream& arguments) {
  std::int16_t api_key = 0;
  int code = 0;
  std::size_t count = 1;
  if (!(arguments >> api_key >> code)) return "error: error APIKEY CODE [COUNT]";
  if (!(arguments >> count)) count = 1;
  const std::vector<rd_kafka_resp_err_t> errors(count, static_cast<rd_kafka_resp_err_t>(code));
  rd_kafka_mock_push_request_errors_array(cluster, api_key, errors.size(), errors.data());
  return "ok";
}

std::string SetRoundTrip(rd_kafka_mock_cluster_t* cluster, std::istringstream& arguments) {
  int milliseconds = 0;
  if (!(arguments >> milliseconds) || milliseconds < 0) return "error: rtt MILLISECONDS";
  return Answer(rd_kafka_mock_broker_set_rtt(cluster, kBroker, milliseconds));
}

std::string Obey(rd_kafka_mock_cluster_t* cluster, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command == "topic") return CreateTopic(cluster, words);
  if (command == "error") return PushErrors(cluster, words);
  if (command == "rtt") return SetRoundTrip(cluster, words);
  if (command == "down") return Answer(rd_kafka_mock_broker_set_down(cluster, kBroker));
  if (command == "up") return Answer(rd_kafka_mock_broker_set_up(cluster, kBroker));
  return "error: unknown command '" + command + "'";
}

}  // namespace

int main() {
  char text[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set_log_cb(conf, nullptr);
  const Client client(rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text));
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);
    std::cerr << "mock_kafka: " << text << '\n';
    return 70;
  }
  const Cluster cluster(rd_kafka_mock_cluster_new(client.get(), 1));
  if (cluster == nullptr) {
    std::cerr << "mock_kafka: the mock cluster doesn't start\n";
    return 70;
  }
  std::cout << "bootstrap=" << rd_kafka_mock_cluster_bootstraps(cluster.get()) << "\nready"
            << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) std::cout << Obey(cluster.get(), line) << std::endl;
  }
  return 0;
}
