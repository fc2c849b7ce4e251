// walpost-bench: the command line.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <CLI/CLI.hpp>
#pragma GCC diagnostic pop

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "verbs/bench_verbs.h"

namespace walpost::bench {
namespace {

// RATE or RATExROWS: "5000x5" is a thousand transactions of five events.
std::string ParseRates(const std::vector<std::string>& texts, std::vector<Rate>& rates) {
  if (texts.empty()) return "";
  rates.clear();
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = absl::StrSplit(text, 'x');
    Rate rate;
    const bool valid =
        parts.size() <= 2 && absl::SimpleAtod(parts[0], &rate.events_per_second) &&
        rate.events_per_second > 0 &&
        (parts.size() == 1 ||
         (absl::SimpleAtoi(parts[1], &rate.rows_per_transaction) && rate.rows_per_transaction > 0));
    if (!valid)
      return "--rate takes EVENTS_PER_SECOND or EVENTS_PER_SECONDxROWS, not '" + text + "'";
    rates.push_back(rate);
  }
  return "";
}

// What a profile sets, before what is said beside it.
void ApplyProfile(const std::string& profile, Options& options) {
  if (profile == "quick") {
    options.scenarios = {"lag", "drain"};
    options.targets = {"walpost", "walpost-traced", "reader-200us", "poll-1s-100-claim",
                       "debezium-tuned"};
    options.rates = {{1000, 1}};
    options.warm_up = absl::Seconds(2);
    options.duration = absl::Seconds(8);
    options.rounds = 1;
    options.backlog = 100'000;
    options.drain_limit = absl::Seconds(20);
  } else if (profile == "team") {
    options.scenarios = {"team"};
    options.rates = {{100, 1}};
    options.duration = absl::Seconds(30);
  } else {
    options.scenarios = {"limits", "lag", "drain", "outage", "bigtx", "idle"};
  }
}

struct RunFlags {
  std::string profile = "full";
  std::vector<std::string> scenarios, targets, rates;
  double duration = 0, warm_up = 0, outage = 0, idle = 0;
  std::int64_t backlog = 0, bigtx_rows = 0;
  int rounds = 0, payload = -1, writers = 0, aggregates = 0, partitions = 0;
  std::string poller;
  bool unix_socket = false;
  BenchArgs args;
};

void AddRunOptions(CLI::App& app, RunFlags& flags) {
  app.add_option("scenarios", flags.scenarios,
                 "limits lag drain outage bigtx idle; default: those of the profile")
      ->type_name("SCENARIO");
  app.add_option("--profile", flags.profile,
                 "full, quick (under 5 minutes), or team: should we leave polling?")
      ->check(CLI::IsMember({"full", "quick", "team"}));
  app.add_option("--targets", flags.targets,
                 "instead of a scenario's own; see `walpost-bench targets`")
      ->delimiter(',')
      ->type_name("NAME,…");
  app.add_option("--rate", flags.rates,
                 "events/s, or events/s x rows per transaction; may be a list")
      ->delimiter(',')
      ->type_name("RATE[xROWS],…");
  app.add_option("--payload", flags.payload, "bytes of the payload's filling")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--writers", flags.writers, "sessions that commit")->check(CLI::Range(1, 64));
  app.add_option("--aggregates", flags.aggregates, "keys of each writer")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--partitions", flags.partitions, "of each topic")->check(CLI::Range(1, 100));
  app.add_option("--duration", flags.duration, "seconds measured under load")
      ->check(CLI::Range(1.0, 3600.0));
  app.add_option("--warm-up", flags.warm_up, "seconds of load before that")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--rounds", flags.rounds, "of each drain")->check(CLI::Range(1, 50));
  app.add_option("--backlog", flags.backlog, "events of a drain")
      ->check(CLI::Range(1000, 50'000'000));
  app.add_option("--outage", flags.outage, "seconds without the broker")
      ->check(CLI::Range(1.0, 600.0));
  app.add_option("--bigtx-rows", flags.bigtx_rows, "rows of the large transaction")
      ->check(CLI::Range(1000, 50'000'000));
  app.add_option("--idle", flags.idle, "seconds of the idle scenario")
      ->check(CLI::Range(2.0, 3600.0));
  app.add_option("--poller", flags.poller, "preset that profile team compares with")
      ->type_name("NAME");
  app.add_flag("--unix", flags.unix_socket, "Unix socket instead of TCP, where a target can");
  app.add_option("--walpost", flags.args.programs.walpost,
                 "the relay under test; default: beside this program");
  app.add_option("--walpost-bundled", flags.args.programs.bundled,
                 "the same with librdkafka linked in; default: build-bundled/walpost, if there");
  app.add_option("--tools", flags.args.programs.tools, "folder of temp_postgres and temp_kafka")
      ->default_val("tools");
  app.add_option("--output", flags.args.output, "folder for result.json and report.html")
      ->default_val("bench-result");
  app.add_flag("--keep", flags.args.keep, "keep the servers' and targets' files");
}

int Run(RunFlags& flags) {
  Options& options = flags.args.options;
  ApplyProfile(flags.profile, options);
  const std::string problem = ParseRates(flags.rates, options.rates);
  if (!problem.empty()) {
    std::fprintf(stderr, "walpost-bench: %s\n", problem.c_str());
    return 64;
  }
  if (!flags.scenarios.empty()) options.scenarios = flags.scenarios;
  if (!flags.targets.empty()) options.targets = flags.targets;
  const auto set = [](auto given, auto& option) {
    if (given > 0) option = given;
  };
  const auto set_seconds = [](double given, absl::Duration& option) {
    if (given > 0) option = absl::Seconds(given);
  };
  if (flags.payload >= 0) options.payload_bytes = flags.payload;
  set(flags.writers, options.writers);
  set(flags.aggregates, options.aggregates);
  set(flags.partitions, options.partitions);
  set(flags.rounds, options.rounds);
  set(flags.backlog, options.backlog);
  set(flags.bigtx_rows, options.bigtx_rows);
  set_seconds(flags.duration, options.duration);
  set_seconds(flags.warm_up, options.warm_up);
  set_seconds(flags.outage, options.outage);
  set_seconds(flags.idle, options.idle);
  if (!flags.poller.empty()) options.poller = flags.poller;
  options.unix_socket = flags.unix_socket;
  Programs& programs = flags.args.programs;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  programs.self = self;
  if (programs.walpost.empty()) programs.walpost = self.parent_path() / "walpost";
  const std::filesystem::path bundled =
      self.parent_path().parent_path() / "build-bundled" / "walpost";
  if (programs.bundled.empty() && std::filesystem::exists(bundled)) programs.bundled = bundled;
  programs.tools = std::filesystem::absolute(programs.tools);
  return VerbRun(flags.args);
}

int ListTargets() {
  for (const TargetRow& row : Targets()) {
    std::printf("%-22s %s\n", std::string(row.name).c_str(),
                row.make({}, row.name)->about().c_str());
  }
  std::printf("%-22s %s\n", "cmd:SCRIPT",
              "any other relay; runs SCRIPT BOOTSTRAP PGPORT DB SLOT PUBLICATION TOPIC");
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "How late an event arrives, how fast a backlog drains, what it costs, how long recovery "
      "takes.",
      "walpost-bench");
  app.require_subcommand(1);
  RunFlags run;
  AddRunOptions(*app.add_subcommand("run", "measure; exit code 1 if any target was wrong"), run);
  CompareArgs compare;
  CLI::App* compare_verb =
      app.add_subcommand("compare", "two results: ratios, their spread, and whether it is noise");
  compare_verb->add_option("before", compare.before)->required()->type_name("A.json");
  compare_verb->add_option("after", compare.after)->required()->type_name("B.json");
  ReportArgs report;
  CLI::App* report_verb = app.add_subcommand("report", "draw the report of a result again");
  report_verb->add_option("result", report.result)->required()->type_name("RESULT.json");
  report_verb->add_option("html", report.html)->required()->type_name("REPORT.html");
  app.add_subcommand("targets", "list what can be measured");

  // The processes of targets. Group "": not in the help.
  ReadArgs read;
  CLI::App* read_verb = app.add_subcommand("read", "")->group("");
  read_verb->add_option("--dsn", read.dsn)->required();
  read_verb->add_option("--slot", read.slot)->required();
  read_verb->add_option("--publication", read.publication)->required();
  read_verb->add_option("--end", read.end)->required();
  read_verb->add_option("--pause-us", read.pause_us);
  PollArgs poll;
  CLI::App* poll_verb = app.add_subcommand("poll", "")->group("");
  poll_verb->add_option("--preset", poll.preset)->required();
  poll_verb->add_option("--dsn", poll.dsn)->required();
  poll_verb->add_option("--bootstrap", poll.bootstrap)->required();
  poll_verb->add_option("--topic", poll.topic)->required();
  RelayArgs relay;
  CLI::App* relay_verb = app.add_subcommand("relay", "")->group("");
  relay_verb->add_option("--config", relay.config)->required();
  relay_verb->add_option("--trace", relay.trace);
  relay_verb->add_option("--sleep-per-batch", relay.sleep_per_batch);
  relay_verb->add_option("--lose-every", relay.lose_every);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  if (app.got_subcommand("run")) return Run(run);
  if (app.got_subcommand("compare")) return VerbCompare(compare);
  if (app.got_subcommand("report")) return VerbReport(report);
  if (app.got_subcommand("targets")) return ListTargets();
  if (app.got_subcommand(read_verb)) return VerbRead(read);
  if (app.got_subcommand(poll_verb)) return VerbPoll(poll);
  return VerbRelay(relay);
}

}  // namespace
}  // namespace walpost::bench

int main(int argc, char** argv) {
  try {
    return walpost::bench::Main(argc, argv);
  } catch (const std::exception& error) {  // Of a library; the servers are down by now.
    std::fprintf(stderr, "walpost-bench: %s\n", error.what());
    return 70;
  }
}
