// Debezium's Postgres connector with the Outbox Event Router, on Kafka Connect standalone.
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/string_view.h"
#include "targets/target.h"

namespace walpost::bench {
namespace {

using Properties = std::map<std::string, std::string>;

std::string Text(const Properties& properties) {
  std::string text;
  for (const auto& [name, value] : properties) absl::StrAppend(&text, name, "=", value, "\n");
  return text;
}

class Debezium : public Target {
 public:
  Debezium(const Programs& programs, std::string_view name)
      : tools_(programs.tools), name_(name), tuned_(name == "debezium-tuned") {}

  std::string name() const override { return name_; }
  std::string about() const override {
    return tuned_ ? "Debezium on Connect, tuned for lag and rate"
                  : "Debezium on Connect, at its defaults";
  }
  absl::Duration warm_up() const override { return absl::Seconds(12); }  // of the JVM
  absl::StatusOr<std::string> Version() const override {
    ASSIGN_OR_RETURN(std::string version, RunTool({tools_ + "/temp_kafka", "connect-version"}));
    return std::string(absl::StripAsciiWhitespace(version));
  }
  std::map<std::string, std::string> Settings() const override {
    Properties settings = Tuning();
    settings["producer"] = "lz4, acks all, idempotent, linger 0 unless named";
    settings["heap"] = "1 GB at most";
    return settings;
  }

  absl::StatusOr<Command> Prepare(const Assignment& assignment) const override {
    ASSIGN_OR_RETURN(std::string jars, RunTool({tools_ + "/temp_kafka", "fetch-connect"}));
    jars = std::string(absl::StripAsciiWhitespace(jars));
    Properties worker = {
        {"bootstrap.servers", assignment.bootstrap},
        {"key.converter", "org.apache.kafka.connect.storage.StringConverter"},
        {"value.converter", "org.apache.kafka.connect.storage.StringConverter"},
        {"offset.storage.file.filename", assignment.directory + "/offsets"},
        {"listeners", "http://127.0.0.1:0"},
        {"producer.compression.type", "lz4"},
        {"producer.acks", "all"},
        {"producer.enable.idempotence", "true"},
        {"producer.linger.ms", "0"},
    };
    Properties connector = {
        {"name", "bench"},
        {"connector.class", "io.debezium.connector.postgresql.PostgresConnector"},
        {"plugin.name", "pgoutput"},
        {"database.hostname", "127.0.0.1"},
        {"database.port", assignment.postgres->port()},
        {"database.user", "postgres"},
        {"database.password", "unused"},
        {"database.dbname", "postgres"},
        {"topic.prefix", "bench"},
        {"slot.name", assignment.slot},
        {"publication.name", assignment.publication},
        {"publication.autocreate.mode", "disabled"},
        {"table.include.list", "public.outbox"},
        {"snapshot.mode", "no_data"},
        {"tombstones.on.delete", "false"},
        {"transforms", "outbox"},
        {"transforms.outbox.type", "io.debezium.transforms.outbox.EventRouter"},
        {"transforms.outbox.table.field.event.key", "aggregate_id"},
        {"transforms.outbox.route.by.field", "aggregate_type"},
        {"transforms.outbox.route.topic.replacement", assignment.topic},
    };
    for (const auto& [name, value] : Tuning()) {
      const bool of_worker = name.starts_with("offset.") || name.starts_with("plugin.d") ||
                             name.starts_with("producer.");
      (of_worker ? worker : connector)[name] = value;
    }
    ASSIGN_OR_RETURN(const std::string worker_file,
                     WriteFile(assignment.directory, "worker.properties", Text(worker)));
    ASSIGN_OR_RETURN(const std::string connector_file,
                     WriteFile(assignment.directory, "connector.properties", Text(connector)));
    return Command{.argv = {"java", "-Xms256m", "-Xmx1g", "-cp", jars + "/*",
                            "org.apache.kafka.connect.cli.ConnectStandalone", worker_file,
                            connector_file}};
  }

 private:
  Properties Tuning() const {
    if (!tuned_) return {};
    return {{"poll.interval.ms", "1"},
            {"max.batch.size", "8192"},
            {"max.queue.size", "32768"},
            {"offset.flush.interval.ms", "1000"},
            {"plugin.discovery", "service_load"},
            {"producer.linger.ms", "1"},
            {"extended.headers.enabled", "false"}};
  }

  const std::string tools_, name_;
  const bool tuned_;
};

}  // namespace

std::unique_ptr<Target> MakeDebezium(const Programs& programs, std::string_view name) {
  return std::make_unique<Debezium>(programs, name);
}

}  // namespace walpost::bench
