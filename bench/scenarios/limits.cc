// limits: what the parts can do alone, with the same settings: reading clients over both transports, the
// producer, the commits. No relay is faster than its parts.
#include <libpq-fe.h>

#include <atomic>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/histogram.h"
#include "harness/producer.h"
#include "harness/waiting.h"
#include "scenarios/rounds.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kProduceFor = absl::Seconds(4);
constexpr absl::Duration kCommitFor = absl::Seconds(3);

// Produce to acknowledgement and produce to consumer, without Postgres or relay.
absl::StatusOr<nlohmann::json> ProduceAt(Bench& bench, double rate) {
  const auto count = static_cast<std::int64_t>(rate * absl::ToDoubleSeconds(kProduceFor));
  const std::string topic = absl::StrCat("bench.produce", ++bench.prepared);
  RETURN_IF_ERROR(bench.kafka->CreateTopic(topic, bench.options.partitions));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Observer> observer,
      Observer::Start(bench.kafka->bootstrap(), topic, bench.options.partitions, count));
  std::vector<std::int64_t> sent(static_cast<std::size_t>(count));
  Histogram to_ack;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Producer> producer,
      Producer::Start(bench.kafka->bootstrap(), topic, [&](std::int64_t number, std::int64_t now) {
        to_ack.Record((now - sent[static_cast<std::size_t>(number)]) / 1000);
      }));
  const std::string value(static_cast<std::size_t>(bench.options.payload_bytes), 'x');
  // Connections, metadata and the producer's id; it counts as no event.
  for (int i = 0; i < 100; ++i) RETURN_IF_ERROR(producer->Send(-1, "", absl::StrCat(i), value));
  RETURN_IF_ERROR(producer->Flush());
  const MonotonicTime start = MonotonicNow() + absl::Milliseconds(200);
  for (std::int64_t n = 0; n < count; ++n) {
    const MonotonicTime due = start + absl::Seconds(static_cast<double>(n) / rate);
    while (MonotonicNow() < due)
      producer->Poll(due - MonotonicNow() > absl::Milliseconds(1) ? absl::Milliseconds(1)
                                                                  : absl::ZeroDuration());
    sent[static_cast<std::size_t>(n)] = due.nanoseconds();
    RETURN_IF_ERROR(
        producer->Send(n, EventId(n), absl::StrCat(n % bench.options.aggregates), value));
  }
  RETURN_IF_ERROR(producer->Flush());
  observer->WaitFor(count, absl::Seconds(5), absl::Seconds(20));
  observer->Stop();
  Histogram to_consumer;
  for (std::int64_t n = 0; n < count; ++n) {
    const Sighting& sighting = observer->deliveries().sightings[static_cast<std::size_t>(n)];
    if (sighting.times > 0)
      to_consumer.Record((sighting.seen - sent[static_cast<std::size_t>(n)]) / 1000);
  }
  RETURN_IF_ERROR(bench.kafka->DeleteTopic(topic));
  return nlohmann::json{{"rate", rate},
                        {"produce_to_ack", to_ack.ToJson()},
                        {"produce_to_consumer", to_consumer.ToJson()}};
}

// As fast as the producer takes them.
absl::StatusOr<nlohmann::json> ProduceBacklog(Bench& bench) {
  const std::string topic = absl::StrCat("bench.produce", ++bench.prepared);
  RETURN_IF_ERROR(bench.kafka->CreateTopic(topic, bench.options.partitions));
  ASSIGN_OR_RETURN(const std::unique_ptr<Producer> producer,
                   Producer::Start(bench.kafka->bootstrap(), topic));
  const std::string value(static_cast<std::size_t>(bench.options.payload_bytes), 'x');
  const MonotonicTime start = MonotonicNow();
  for (std::int64_t n = 0; n < bench.options.backlog; ++n) {
    RETURN_IF_ERROR(
        producer->Send(n, EventId(n), absl::StrCat(n % bench.options.aggregates), value));
  }
  RETURN_IF_ERROR(producer->Flush());
  const double seconds = absl::ToDoubleSeconds(MonotonicNow() - start);
  RETURN_IF_ERROR(bench.kafka->DeleteTopic(topic));
  return nlohmann::json{
      {"messages_per_second", static_cast<double>(bench.options.backlog) / seconds}};
}

// Writers that commit one event after the other; nobody reads the WAL.
absl::StatusOr<nlohmann::json> Commits(Bench& bench) {
  RETURN_IF_ERROR(bench.MakeTable());
  LoadShape shape{.events_per_second = 1e9,
                  .payload_bytes = bench.options.payload_bytes,
                  .aggregates = bench.options.aggregates,
                  .writers = bench.options.writers,
                  .warm_up = absl::ZeroDuration(),
                  .duration = absl::Microseconds(20)};  // 20,000 events, all due at once
  Load load(bench.postgres->dsn(bench.options.unix_socket), shape);
  load.Start();
  RETURN_IF_ERROR(load.Join());
  const double seconds = absl::ToDoubleSeconds(MonotonicNow() - load.started());
  return nlohmann::json{{"writers", shape.writers},
                        {"commits_per_second", static_cast<double>(load.count()) / seconds}};
}

absl::Status ReadingClients(Bench& bench, const Backlog& backlog, nlohmann::json& results) {
  ASSIGN_OR_RETURN(auto targets, bench.TargetsOr({"reader-poll", "reader-50us", "reader-200us",
                                                  "pg_recvlogical", "walpost-null"}));
  std::erase_if(targets,
                [](const auto& target) { return target->delivers() != Delivers::kNothing; });
  const bool transport = bench.options.unix_socket;
  for (const bool unix_socket : {false, true}) {
    bench.options.unix_socket = unix_socket;
    absl::StatusOr<nlohmann::json> rows =
        DrainInRounds(bench, targets, backlog, unix_socket ? "limits, Unix socket" : "limits, TCP");
    bench.options.unix_socket = transport;
    if (!rows.ok()) return rows.status();
    results[unix_socket ? "reading_unix" : "reading_tcp"] = *std::move(rows);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<nlohmann::json> RunLimits(Bench& bench) {
  nlohmann::json results;
  bench.progress.Step("limits: commits alone", kCommitFor);
  ASSIGN_OR_RETURN(results["commits"], Commits(bench));
  bench.progress.Step("limits: producer alone", kProduceFor * 4);
  ASSIGN_OR_RETURN(results["produce_backlog"], ProduceBacklog(bench));
  results["produce"] = nlohmann::json::array();
  for (const Rate& rate : bench.options.rates) {
    ASSIGN_OR_RETURN(nlohmann::json row, ProduceAt(bench, rate.events_per_second));
    results["produce"].push_back(std::move(row));
  }
  bench.progress.Step("limits: building the backlog", absl::Seconds(20));
  ASSIGN_OR_RETURN(const Backlog backlog, BuildBacklog(bench));
  const absl::Cleanup drop = [&] { DropBacklog(bench, backlog); };
  RETURN_IF_ERROR(ReadingClients(bench, backlog, results));
  return results;
}

}  // namespace walpost::bench
