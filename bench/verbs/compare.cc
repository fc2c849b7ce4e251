// walpost-bench compare: what changed between two results, and whether that is more than noise.
//
// The noise of a figure is what it varied by within a run: the rounds of a drain, the seconds of a lag.
// A ratio is a difference only if the two ranges between the quartiles don't overlap, and it is 5 % or more.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "harness/histogram.h"
#include "report/result.h"
#include "verbs/bench_verbs.h"

namespace walpost::bench {
namespace {

using nlohmann::json;

// Two runs of one build differ by as much for no reason that a run could see.
constexpr double kLeastDifference = 0.05;

struct Figure {
  double value = 0;
  std::vector<double> parts;  // of which it is made: its spread
  bool more_is_better = false;
};

// Between the two values next to it.
double Quartile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double above = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (place - std::floor(place)) * (above - values[below]);
}

std::vector<double> ColumnOf(const json& rows, std::size_t column) {
  std::vector<double> values;
  for (const json& row : rows) values.push_back(row[column].get<double>());
  return values;
}

// Every comparable figure by its name.
std::map<std::string, Figure> FiguresOf(const json& result) {
  std::map<std::string, Figure> figures;
  const json& scenarios = result["scenarios"];
  for (const char* scenario : {"lag", "team", "outage"}) {
    for (const json& row : scenarios.value(scenario, json::array())) {
      if (!row.contains("lag")) continue;
      const std::string name =
          absl::StrCat(scenario, " at ", RateOf(row), ", ", row["target"].get<std::string>());
      const json& lag = row["lag"]["intended_to_consumer"];
      figures[name + ", p50 ms"] = {lag["p50"].get<double>() / 1000, ColumnOf(row["over_time"], 2)};
      figures[name + ", p99 ms"] = {lag["p99"].get<double>() / 1000, ColumnOf(row["over_time"], 3)};
      for (const char* percentile : {", p50 ms", ", p99 ms"}) {
        for (double& part : figures[name + percentile].parts) part /= 1000;
      }
    }
  }
  const auto add_drains = [&](const std::string& name, const json& rows) {
    for (const json& row : rows) {
      if (!row.contains("rounds")) continue;
      figures[absl::StrCat(name, ", ", row["target"].get<std::string>(), ", events/s")] = {
          row["events_per_second"].get<double>(), row["rounds"].get<std::vector<double>>(), true};
    }
  };
  add_drains("drain", scenarios.value("drain", json::array()));
  if (scenarios.contains("limits")) {
    add_drains("limits TCP", scenarios["limits"]["reading_tcp"]);
    add_drains("limits Unix socket", scenarios["limits"]["reading_unix"]);
  }
  return figures;
}

const char* Judge(const Figure& before, const Figure& after) {
  if (before.parts.size() < 2 || after.parts.size() < 2) return "one round: unknown";
  const bool apart = Quartile(before.parts, .75) < Quartile(after.parts, .25) ||
                     Quartile(after.parts, .75) < Quartile(before.parts, .25);
  const bool little = std::abs(after.value / before.value - 1) < kLeastDifference;
  if (!apart || little) return "within noise";
  return (after.value > before.value) == before.more_is_better ? "better" : "worse";
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "walpost-bench: %s\n", std::string(status.message()).c_str());
  if (!HintOf(status).empty()) std::fprintf(stderr, "HINT: %s\n", HintOf(status).c_str());
  return 64;
}

}  // namespace

int VerbCompare(const CompareArgs& args) {
  const absl::StatusOr<json> before = ReadResult(args.before);
  if (!before.ok()) return Fail(before.status());
  const absl::StatusOr<json> after = ReadResult(args.after);
  if (!after.ok()) return Fail(after.status());
  if ((*before)["host"] != (*after)["host"])
    std::printf("note: the two results come from different hosts\n");
  if ((*before)["options"] != (*after)["options"])
    std::printf("note: the two runs had different options\n");
  const std::map<std::string, Figure> old_figures = FiguresOf(*before);
  std::printf("%-58s %10s %10s %7s  %-15s %s\n", "", "before", "after", "ratio", "spread", "");
  int shared = 0;
  for (const auto& [name, figure] : FiguresOf(*after)) {
    const auto old = old_figures.find(name);
    if (old == old_figures.end() || old->second.value <= 0) continue;
    ++shared;
    const auto spread = [&new_parts = figure.parts, &old_parts = old->second.parts](
                            double of_after, double of_before) {
      return Quartile(new_parts, of_after) / std::max(Quartile(old_parts, of_before), 1e-9);
    };
    std::printf("%-58s %10.2f %10.2f %7.2f  %6.2f to %-5.2f %s\n", name.c_str(), old->second.value,
                figure.value, figure.value / old->second.value, spread(.25, .75), spread(.75, .25),
                Judge(old->second, figure));
  }
  if (shared == 0)
    return Fail(
        Error(absl::StatusCode::kInvalidArgument, "the two results have no figure in common"));
  return 0;
}

}  // namespace walpost::bench
