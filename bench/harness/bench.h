// One run: what was asked for, the servers, and what is prepared for each target in turn.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "harness/load.h"
#include "harness/observer.h"
#include "harness/progress.h"
#include "harness/servers.h"
#include "targets/target.h"

namespace walpost::bench {

struct Rate {
  double events_per_second = 0;
  int rows_per_transaction = 1;
};

// Everything that a run can be told. The report shows all of it.
struct Options {
  std::vector<std::string> scenarios;
  std::vector<std::string> targets;  // none: those a scenario has by itself
  std::vector<Rate> rates = {{100, 1}, {1000, 1}, {5000, 5}};
  int payload_bytes = 400;
  int aggregates = 1000;  // per writer
  int writers = 2;
  int partitions = 4;
  absl::Duration warm_up = absl::Seconds(4);
  absl::Duration duration = absl::Seconds(12);
  int rounds = 3;
  std::int64_t backlog = 200'000;  // events that a drain begins with
  absl::Duration drain_limit =
      absl::Seconds(40);  // a target that isn't done by then is measured by what it did
  absl::Duration outage = absl::Seconds(10);
  std::int64_t bigtx_rows = 1'000'000;
  absl::Duration idle = absl::Seconds(30);
  bool unix_socket = false;
  std::string poller = "poll-1s-100-claim";  // of profile team

  nlohmann::json ToJson() const;
};

// Thread: one.
struct Bench {
  Options options;
  Programs programs;
  std::string directory;
  std::unique_ptr<Postgres> postgres;
  std::unique_ptr<Kafka> kafka;
  Progress progress;
  nlohmann::json versions = nlohmann::json::object();  // by target
  nlohmann::json settings = nlohmann::json::object();  // likewise
  std::vector<std::string> wrong;                      // what a target did wrong, one line each
  int prepared = 0;

  // Those asked for, else `standard`; each known and its version noted. A standard one that isn't there
  // is left out, and `versions` says so.
  absl::StatusOr<std::vector<std::unique_ptr<Target>>> TargetsOr(
      const std::vector<std::string>& standard);

  // A new table, publication, slot and topic, and a folder: nothing is left of the target before.
  absl::StatusOr<Assignment> Prepare(const Target& target);
  // Beside an existing table: a slot copied from `base`, and a topic.
  absl::StatusOr<Assignment> PrepareCopy(const Target& target, const std::string& base);
  // Drops slot and topic, once the target has stopped; whatever became of it, so that the next one finds
  // the servers as this one did. Says on standard error what it couldn't drop.
  void CleanUp(const Assignment& assignment);

  // Some thousand messages through the broker, whose compiler is cold at first: the first target would
  // pay for it.
  absl::Status WarmBroker();
  // Empties the table and makes the publication anew.
  absl::Status MakeTable();
  // Notes what `check` says against `what`.
  void Judge(const std::string& what, const Correctness& check);
};

using Scenario = absl::StatusOr<nlohmann::json> (*)(Bench& bench);
absl::StatusOr<nlohmann::json> RunLimits(Bench& bench);
absl::StatusOr<nlohmann::json> RunLag(Bench& bench);
absl::StatusOr<nlohmann::json> RunDrain(Bench& bench);
absl::StatusOr<nlohmann::json> RunOutage(Bench& bench);
absl::StatusOr<nlohmann::json> RunBigTransaction(Bench& bench);
absl::StatusOr<nlohmann::json> RunIdle(Bench& bench);
absl::StatusOr<nlohmann::json> RunTeam(Bench& bench);

struct ScenarioRow {
  const char* name;
  Scenario run;
};
const std::vector<ScenarioRow>& Scenarios();

}  // namespace walpost::bench
