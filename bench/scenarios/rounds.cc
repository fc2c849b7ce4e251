#include "scenarios/rounds.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/histogram.h"
#include "scenarios/load_run.h"

namespace walpost::bench {
namespace {

double MedianOf(const std::vector<nlohmann::json>& rounds,
                const nlohmann::json::json_pointer& field) {
  std::vector<double> values;
  for (const nlohmann::json& round : rounds) {
    const nlohmann::json& value = round.value(field, nlohmann::json());
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return Median(std::move(values));
}

nlohmann::json Together(const std::vector<nlohmann::json>& rounds) {
  nlohmann::json result = rounds.back();
  nlohmann::json rates = nlohmann::json::array();
  for (const nlohmann::json& round : rounds) rates.push_back(round.at("events_per_second"));
  result["rounds"] = std::move(rates);
  // One wrong round is a wrong target.
  for (const nlohmann::json& round : rounds) {
    if (!round["complete"].get<bool>()) result["complete"] = false;
    if (round.contains("correctness") && !round["correctness"]["ok"].get<bool>()) {
      result["correctness"] = round["correctness"];
    }
  }
  for (const char* field :
       {"/events_per_second", "/events_per_second_from_start", "/warm_events_per_second",
        "/start_to_first_seconds", "/seconds", "/cost/cpu_us_per_event",
        "/cost/server_cpu_us_per_event", "/cost/peak_bytes"}) {
    const nlohmann::json::json_pointer pointer(field);
    if (result.contains(pointer) && result[pointer].is_number())
      result[pointer] = MedianOf(rounds, pointer);
  }
  return result;
}

// Ratios to the best of those that only read, from start to the last event.
void AddRatios(const std::vector<std::unique_ptr<Target>>& targets, nlohmann::json& results) {
  const auto rate = [&](std::size_t i) {
    return results[i].value("events_per_second_from_start", 0.0);
  };
  double best = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]->name().starts_with("reader-")) best = std::max(best, rate(i));
  }
  for (std::size_t i = 0; i < targets.size() && best > 0; ++i) {
    if (rate(i) > 0) results[i]["of_limit"] = rate(i) / best;
  }
}

}  // namespace

absl::StatusOr<nlohmann::json> DrainInRounds(Bench& bench,
                                             const std::vector<std::unique_ptr<Target>>& targets,
                                             const Backlog& backlog, const std::string& scenario) {
  std::map<std::string, std::vector<nlohmann::json>> rounds;
  std::map<std::string, nlohmann::json> failed;
  const auto one_round = [&](int round, Reads reads) {
    for (const auto& target : targets) {
      if (target->reads() != reads || failed.contains(target->name())) continue;
      bench.progress.Step(absl::StrCat(scenario, ", round ", round, ": ", target->name()),
                          absl::Seconds(9));
      absl::StatusOr<nlohmann::json> result = DrainOnce(bench, *target, backlog);
      if (result.ok()) {
        rounds[target->name()].push_back(*std::move(result));
      } else {
        failed[target->name()] = Failed(bench, scenario, *target, result.status());
      }
    }
  };
  // Pollers come last: their updates lie behind the backlog, and every walsender would decode them.
  for (const Reads reads : {Reads::kSlot, Reads::kTable}) {
    for (int round = 1; round <= bench.options.rounds; ++round) one_round(round, reads);
  }
  nlohmann::json results = nlohmann::json::array();
  for (const auto& target : targets) {
    const auto failure = failed.find(target->name());
    results.push_back(failure != failed.end() ? failure->second : Together(rounds[target->name()]));
  }
  AddRatios(targets, results);
  return results;
}

}  // namespace walpost::bench
