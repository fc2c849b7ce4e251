#include "harness/servers.h"

#include <librdkafka/rdkafka.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/process.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kStatementLimit = absl::Minutes(10);

// What a server tool printed: one JSON object on its last line.
absl::StatusOr<nlohmann::json> RunServerTool(const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(const std::string output, RunTool(argv));
  // Warnings may come before it.
  const std::size_t line = output.rfind('{');
  nlohmann::json json =
      nlohmann::json::parse(output.substr(line == std::string::npos ? 0 : line), nullptr, false);
  if (!json.is_object()) {
    return Error(absl::StatusCode::kInternal, absl::StrCat(argv[0], " printed no JSON: ", output));
  }
  return json;
}

void Drop(const std::string& tool, const std::string& directory) {
  const absl::Status dropped = RunTool({tool, "drop", directory}).status();
  if (!dropped.ok()) std::fprintf(stderr, "%s\n", std::string(dropped.message()).c_str());
}

// One admin request, waited for; the error of the topic it names.
template <typename Fill>
absl::Status Admin(const std::string& bootstrap, rd_kafka_event_type_t answer,
                   const Fill& request) {
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap.c_str(), error, sizeof error);
  rd_kafka_conf_set(conf, "log_level", "0", error, sizeof error);
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (client == nullptr) return Error(absl::StatusCode::kUnavailable, error);
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client);
  const absl::Cleanup close = [&] {
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(client);
  };
  request(client, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 60'000);
  if (event == nullptr) return Error(absl::StatusCode::kUnavailable, "the broker doesn't answer");
  const absl::Cleanup free_event = [event] { rd_kafka_event_destroy(event); };
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kUnavailable, rd_kafka_event_error_string(event));
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** results =
      answer == RD_KAFKA_EVENT_CREATETOPICS_RESULT
          ? rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
          : rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
  if (count == 1 && rd_kafka_topic_result_error(results[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 absl::StrCat("topic ", rd_kafka_topic_result_name(results[0]), ": ",
                              rd_kafka_err2str(rd_kafka_topic_result_error(results[0]))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Postgres>> Postgres::Start(const std::string& tools,
                                                          const std::string& directory,
                                                          bool count_statements) {
  std::unique_ptr<Postgres> server(new Postgres());
  server->tools_ = tools;
  server->directory_ = directory + "/postgres";
  // No checkpoint and no full segment falls into a measurement. temp_postgres turns fsync off: what the
  // disk of this machine takes would else be the larger part of every lag, and the same for all.
  std::vector<std::string> start = {tools + "/temp_postgres", "start", server->directory_, "--tcp"};
  for (const char* option : {"max_wal_size=8GB", "shared_buffers=512MB", "checkpoint_timeout=1h"}) {
    start.insert(start.end(), {"-o", option});
  }
  if (count_statements)
    start.insert(start.end(), {"-o", "shared_preload_libraries=pg_stat_statements"});
  ASSIGN_OR_RETURN(const nlohmann::json facts, RunServerTool(start));
  server->socket_ = facts.at("host").get<std::string>();
  server->port_ = absl::StrCat(facts.at("port").get<int>());
  server->bin_ = facts.at("bin").get<std::string>();
  ASSIGN_OR_RETURN(
      server->session_,
      Connect({.dsn = server->dsn(true), .application_name = "walpost-bench"}, absl::Seconds(10)));
  ASSIGN_OR_RETURN(server->version_,
                   server->Value("SELECT current_setting('server_version') AS value"));
  return server;
}

Postgres::~Postgres() {
  session_.reset();
  Drop(tools_ + "/temp_postgres", directory_);
}

std::string Postgres::dsn(bool unix_socket) const {
  return absl::StrCat("host=", unix_socket ? socket_ : "127.0.0.1", " port=", port_,
                      " user=postgres dbname=postgres");
}

absl::StatusOr<PgRows> Postgres::Query(const std::string& sql) {
  absl::StatusOr<PgRows> rows = RunQuery(*session_, sql, kStatementLimit);
  if (!rows.ok()) return WithContext(rows.status(), sql);
  return rows;
}

absl::StatusOr<std::string> Postgres::Value(const std::string& sql) {
  ASSIGN_OR_RETURN(const PgRows rows, Query(sql));
  return rows.size() == 0 ? std::string() : rows.Text(0, "value");
}

absl::StatusOr<Lsn> Postgres::CurrentLsn() {
  ASSIGN_OR_RETURN(const std::string text, Value("SELECT pg_current_wal_insert_lsn() AS value"));
  const std::optional<Lsn> lsn = ParseLsn(text);
  if (!lsn) return Error(absl::StatusCode::kInternal, absl::StrCat("not an LSN: ", text));
  return *lsn;
}

std::int64_t NumberIn(const PgRows& rows, const char* column) {
  std::int64_t number = 0;
  return rows.size() > 0 && absl::SimpleAtoi(rows.Text(0, column), &number) ? number : 0;
}

absl::StatusOr<std::unique_ptr<Kafka>> Kafka::Start(const std::string& tools,
                                                    const std::string& directory) {
  std::unique_ptr<Kafka> broker(new Kafka());
  broker->tools_ = tools;
  broker->directory_ = directory + "/kafka";
  RETURN_IF_ERROR(broker->StartAgain());
  ASSIGN_OR_RETURN(broker->version_, RunTool({tools + "/temp_kafka", "version"}));
  while (!broker->version_.empty() && broker->version_.back() == '\n') broker->version_.pop_back();
  return broker;
}

Kafka::~Kafka() { Drop(tools_ + "/temp_kafka", directory_); }

absl::Status Kafka::Kill() {
  return RunTool({tools_ + "/temp_kafka", "kill", directory_}).status();
}

absl::Status Kafka::StartAgain() {
  ASSIGN_OR_RETURN(const nlohmann::json facts,
                   RunServerTool({tools_ + "/temp_kafka", "start", directory_}));
  bootstrap_ = facts.at("bootstrap").get<std::string>();
  return absl::OkStatus();
}

absl::Status Kafka::CreateTopic(const std::string& topic, int partitions) {
  return Admin(bootstrap_, RD_KAFKA_EVENT_CREATETOPICS_RESULT,
               [&](rd_kafka_t* client, rd_kafka_queue_t* queue) {
                 char error[256];
                 rd_kafka_NewTopic_t* wanted =
                     rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, error, sizeof error);
                 rd_kafka_NewTopic_set_config(wanted, "message.timestamp.type", "LogAppendTime");
                 rd_kafka_CreateTopics(client, &wanted, 1, nullptr, queue);
                 rd_kafka_NewTopic_destroy(wanted);
               });
}

absl::Status Kafka::DeleteTopic(const std::string& topic) {
  return Admin(bootstrap_, RD_KAFKA_EVENT_DELETETOPICS_RESULT,
               [&](rd_kafka_t* client, rd_kafka_queue_t* queue) {
                 rd_kafka_DeleteTopic_t* wanted = rd_kafka_DeleteTopic_new(topic.c_str());
                 rd_kafka_DeleteTopics(client, &wanted, 1, nullptr, queue);
                 rd_kafka_DeleteTopic_destroy(wanted);
               });
}

}  // namespace walpost::bench
