#include "harness/bench.h"

#include <cstdio>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "harness/producer.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

constexpr const char* kTable =
    "DROP TABLE IF EXISTS outbox;"
    "CREATE TABLE outbox (id uuid PRIMARY KEY, aggregate_type varchar(64) NOT NULL, aggregate_id "
    "varchar(64) NOT NULL,"
    "event_type varchar(64) NOT NULL, payload jsonb NOT NULL, created_at timestamptz NOT NULL "
    "DEFAULT now());"
    "DROP PUBLICATION IF EXISTS bench";
constexpr const char* kPublication =
    "CREATE PUBLICATION bench FOR TABLE outbox WITH (publish = 'insert')";

// A name of a target as one of a topic, slot or folder.
std::string PlainName(const std::string& name) {
  std::string plain;
  for (const char c : name)
    plain += absl::ascii_isalnum(static_cast<unsigned char>(c))
                 ? absl::ascii_tolower(static_cast<unsigned char>(c))
                 : '_';
  return plain.substr(0, 40);
}

}  // namespace

nlohmann::json Options::ToJson() const {
  nlohmann::json all_rates = nlohmann::json::array();
  for (const Rate& rate : rates) {
    all_rates.push_back({{"events_per_second", rate.events_per_second},
                         {"rows_per_transaction", rate.rows_per_transaction}});
  }
  return {{"scenarios", scenarios},
          {"targets", targets},
          {"rates", all_rates},
          {"payload_bytes", payload_bytes},
          {"aggregates", aggregates},
          {"writers", writers},
          {"partitions", partitions},
          {"warm_up_seconds", absl::ToDoubleSeconds(warm_up)},
          {"duration_seconds", absl::ToDoubleSeconds(duration)},
          {"rounds", rounds},
          {"backlog_events", backlog},
          {"drain_limit_seconds", absl::ToDoubleSeconds(drain_limit)},
          {"outage_seconds", absl::ToDoubleSeconds(outage)},
          {"bigtx_rows", bigtx_rows},
          {"idle_seconds", absl::ToDoubleSeconds(idle)},
          {"transport", unix_socket ? "unix" : "tcp"},
          {"poller", poller},
          {"broker",
           "one node, topics with LogAppendTime; producers: acks all, lz4, linger 0 unless a "
           "target's settings say otherwise"}};
}

absl::StatusOr<std::vector<std::unique_ptr<Target>>> Bench::TargetsOr(
    const std::vector<std::string>& standard) {
  std::vector<std::unique_ptr<Target>> targets;
  for (const std::string& name : options.targets.empty() ? standard : options.targets) {
    ASSIGN_OR_RETURN(std::unique_ptr<Target> target, MakeTarget(name, programs));
    const absl::StatusOr<std::string> version = target->Version();
    if (!version.ok()) {
      if (!options.targets.empty()) return version.status();
      versions[name] = absl::StrCat("left out: ", std::string(version.status().message()),
                                    "; HINT: ", HintOf(version.status()));
      continue;
    }
    versions[name] = *version;
    settings[name] = target->Settings();
    targets.push_back(std::move(target));
  }
  return targets;
}

absl::Status Bench::MakeTable() { return postgres->Execute(kTable); }

absl::StatusOr<Assignment> Bench::Prepare(const Target& target) {
  RETURN_IF_ERROR(MakeTable());
  if (!target.TableSql().empty()) RETURN_IF_ERROR(postgres->Execute(target.TableSql()));
  RETURN_IF_ERROR(postgres->Execute(kPublication));
  return PrepareCopy(target, "");
}

absl::StatusOr<Assignment> Bench::PrepareCopy(const Target& target, const std::string& base) {
  if (Interrupted()) return Error(absl::StatusCode::kCancelled, "interrupted");
  const std::string name = absl::StrCat("b", ++prepared, "_", PlainName(target.name()));
  Assignment assignment{.postgres = postgres.get(),
                        .unix_socket = options.unix_socket,
                        .bootstrap = kafka->bootstrap(),
                        .publication = "bench",
                        .directory = directory + "/" + name};
  std::filesystem::create_directories(assignment.directory);
  if (target.reads() == Reads::kSlot) {
    assignment.slot = name;
    RETURN_IF_ERROR(postgres->Execute(
        base.empty()
            ? absl::StrCat("SELECT pg_create_logical_replication_slot('", name, "', 'pgoutput')")
            : absl::StrCat("SELECT pg_copy_logical_replication_slot('", base, "', '", name, "')")));
  }
  if (target.delivers() == Delivers::kToKafka) {
    assignment.topic = absl::StrCat("bench.", name);
    const absl::Status created = kafka->CreateTopic(assignment.topic, options.partitions);
    if (!created.ok()) {
      CleanUp({.slot = assignment.slot});
      return created;
    }
  }
  return assignment;
}

absl::Status Bench::WarmBroker() {
  constexpr std::int64_t kMessages = 30'000;
  constexpr std::int64_t kAtATime = 10;
  RETURN_IF_ERROR(kafka->CreateTopic("bench.warm", options.partitions));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Observer> observer,
      Observer::Start(kafka->bootstrap(), "bench.warm", options.partitions, kMessages));
  ASSIGN_OR_RETURN(const std::unique_ptr<Producer> producer,
                   Producer::Start(kafka->bootstrap(), "bench.warm"));
  const std::string value(static_cast<std::size_t>(options.payload_bytes), 'x');
  for (std::int64_t n = 0; n < kMessages; ++n) {
    RETURN_IF_ERROR(producer->Send(n, EventId(n), absl::StrCat(n), value));
    if (n % kAtATime == 0) producer->Poll(absl::Milliseconds(1));
  }
  RETURN_IF_ERROR(producer->Flush());
  observer->WaitFor(kMessages, absl::Seconds(5), absl::Seconds(20));
  observer->Stop();
  return kafka->DeleteTopic("bench.warm");
}

void Bench::CleanUp(const Assignment& assignment) {
  absl::Status dropped;
  if (!assignment.slot.empty()) {
    // Its walsender may need a moment to notice that the target has gone.
    const std::string drop =
        absl::StrCat("SELECT pg_drop_replication_slot('", assignment.slot, "')");
    WaitUntil(absl::Seconds(20), [&] { return (dropped = postgres->Execute(drop)).ok(); });
  }
  if (!assignment.topic.empty()) dropped.Update(kafka->DeleteTopic(assignment.topic));
  if (!dropped.ok()) std::fprintf(stderr, "%s\n", std::string(dropped.message()).c_str());
}

void Bench::Judge(const std::string& what, const Correctness& check) {
  if (check.ok()) return;
  wrong.push_back(absl::StrCat(what, ": ", check.lost, " events lost, ", check.phantom,
                               " phantoms, ", check.split, " apart from their key, ",
                               check.out_of_order, " out of order, of ", check.committed,
                               " committed"));
}

const std::vector<ScenarioRow>& Scenarios() {
  static const std::vector<ScenarioRow> rows = {
      {"limits", RunLimits},        {"lag", RunLag},   {"drain", RunDrain}, {"outage", RunOutage},
      {"bigtx", RunBigTransaction}, {"idle", RunIdle}, {"team", RunTeam},
  };
  return rows;
}

}  // namespace walpost::bench
