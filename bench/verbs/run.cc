// walpost-bench run: the servers, the scenarios one after the other, and the result as JSON and HTML.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "harness/bench.h"
#include "harness/waiting.h"
#include "report/html.h"
#include "report/result.h"
#include "verbs/bench_verbs.h"

namespace walpost::bench {
namespace {

std::string FirstLineWith(const std::string& file, const std::string& key) {
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with(key))
      return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
  }
  return "";
}

nlohmann::json Host() {
  utsname name{};
  uname(&name);
  return {{"cpu", FirstLineWith("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory", FirstLineWith("/proc/meminfo", "MemTotal")},
          {"kernel", name.release}};
}

absl::StatusOr<const ScenarioRow*> FindScenario(const std::string& name) {
  std::string names;
  for (const ScenarioRow& row : Scenarios()) {
    if (name == row.name) return &row;
    absl::StrAppend(&names, names.empty() ? "" : ", ", row.name);
  }
  return WithHint(
      Error(absl::StatusCode::kInvalidArgument, absl::StrCat("no scenario is named '", name, "'")),
      "one of " + names);
}

// How long each scenario is expected to take, for the progress line.
absl::Duration Expected(const std::string& scenario, const Options& options) {
  const auto count = [&](int standard) {
    return options.targets.empty() ? standard : static_cast<int>(options.targets.size());
  };
  const absl::Duration load = options.warm_up + options.duration + absl::Seconds(9);
  if (scenario == "lag") return load * count(9) * static_cast<int>(options.rates.size());
  if (scenario == "drain") return absl::Seconds(20) + absl::Seconds(9) * count(10) * options.rounds;
  if (scenario == "limits")
    return absl::Seconds(40) + absl::Seconds(9) * count(5) * 2 * options.rounds;
  if (scenario == "outage") return (options.outage + absl::Seconds(35)) * count(3);
  if (scenario == "bigtx") return absl::Seconds(70) * count(2);
  if (scenario == "idle") return (options.idle * 1.5 + absl::Seconds(10)) * count(3);
  return load * 3;
}

absl::Status RunScenarios(Bench& bench, nlohmann::json& result) {
  std::vector<const ScenarioRow*> rows;
  for (const std::string& name : bench.options.scenarios) {
    ASSIGN_OR_RETURN(const ScenarioRow* row, FindScenario(name));
    rows.push_back(row);
    bench.progress.Plan(Expected(name, bench.options));
  }
  // A mistake is named before anything starts.
  RETURN_IF_ERROR(bench.TargetsOr({}).status());
  const auto& names = bench.options.scenarios;
  const bool team = std::find(names.begin(), names.end(), "team") != names.end();
  if (team) RETURN_IF_ERROR(MakeTarget(bench.options.poller, bench.programs).status());
  bench.progress.Step("starting Postgres and Kafka", absl::Seconds(8));
  ASSIGN_OR_RETURN(bench.postgres, Postgres::Start(bench.programs.tools, bench.directory, team));
  ASSIGN_OR_RETURN(bench.kafka, Kafka::Start(bench.programs.tools, bench.directory));
  RETURN_IF_ERROR(bench.WarmBroker());
  for (const ScenarioRow* row : rows) {
    absl::StatusOr<nlohmann::json> rows_of = row->run(bench);
    if (rows_of.ok()) {
      result["scenarios"][row->name] = *std::move(rows_of);
    } else {  // What the others have measured stays.
      bench.wrong.push_back(
          absl::StrCat(row->name, " failed: ", std::string(rows_of.status().message())));
    }
  }
  bench.progress.End();
  return absl::OkStatus();
}

nlohmann::json Heading(const Options& options) {
  return {{"schema", kResultSchema},
          {"started_at", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone())},
          {"host", Host()},
          {"options", options.ToJson()},
          {"scenarios", nlohmann::json::object()}};
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "\nwalpost-bench: %s\n", std::string(status.message()).c_str());
  if (!HintOf(status).empty()) std::fprintf(stderr, "HINT: %s\n", HintOf(status).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 64 : 69;
}

}  // namespace

int VerbRun(const BenchArgs& args) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { Interrupted() = true; });
  std::error_code cannot;
  std::filesystem::create_directories(args.output, cannot);
  if (cannot) {
    return Fail(Error(absl::StatusCode::kInvalidArgument,
                      absl::StrCat("--output ", args.output, ": ", cannot.message())));
  }
  Bench bench{.options = args.options, .programs = args.programs};
  // Short: a Unix socket lies below it, and Postgres's own user must get in.
  char directory[] = "/tmp/walpost-bench.XXXXXX";
  if (mkdtemp(directory) == nullptr)
    return Fail(Error(absl::StatusCode::kUnavailable, "no folder in /tmp"));
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  bench.directory = directory;
  const absl::Cleanup remove = [&] {
    bench.postgres.reset();
    bench.kafka.reset();
    std::error_code error;
    if (!args.keep) std::filesystem::remove_all(bench.directory, error);
  };
  nlohmann::json result = Heading(bench.options);
  const absl::Status status = RunScenarios(bench, result);
  if (!status.ok()) return Fail(status);
  bench.versions["postgres"] = bench.postgres->version();
  bench.versions["kafka"] = bench.kafka->version();
  result["versions"] = bench.versions;
  result["settings"] = bench.settings;
  result["wrong"] = bench.wrong;
  const absl::StatusOr<std::string> wrote_json =
      WriteFile(args.output, "result.json", result.dump(1) + "\n");
  if (!wrote_json.ok()) return Fail(wrote_json.status());
  const absl::StatusOr<std::string> wrote_html =
      WriteFile(args.output, "report.html", HtmlReport(result));
  if (!wrote_html.ok()) return Fail(wrote_html.status());
  std::printf("%s\n%s and %s\n", TextSummary(result).c_str(), wrote_json->c_str(),
              wrote_html->c_str());
  for (const auto& [name, version] : bench.versions.items()) {
    const auto text = version.get<std::string>();
    if (text.starts_with("left out")) std::printf("%s %s\n", name.c_str(), text.c_str());
  }
  for (const std::string& what : bench.wrong) std::printf("WRONG: %s\n", what.c_str());
  return bench.wrong.empty() ? 0 : 1;
}

int VerbReport(const ReportArgs& args) {
  const absl::StatusOr<nlohmann::json> result = ReadResult(args.result);
  if (!result.ok()) return Fail(result.status());
  std::ofstream(args.html) << HtmlReport(*result);
  return 0;
}

}  // namespace walpost::bench
