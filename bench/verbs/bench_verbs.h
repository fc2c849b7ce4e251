// What walpost-bench can be asked to do. Each returns the exit code: 0, 1 for a run whose events were
// not delivered as they must be, 64 for usage, 69 where something isn't reachable.
#pragma once

#include <string>
#include <vector>

#include "harness/bench.h"

namespace walpost::bench {

struct BenchArgs {
  Options options;
  Programs programs;
  std::string output;  // folder that takes result.json and report.html
  bool keep = false;   // the servers' and targets' files, to look at
};
int VerbRun(const BenchArgs& args);

struct ReadArgs {
  std::string dsn, slot, publication, end;
  int pause_us = 0;
};
// A target's process: reads the slot up to `end` and drops what comes.
int VerbRead(const ReadArgs& args);

struct PollArgs {
  std::string preset, dsn, bootstrap, topic;
};
// A target's process: a polling relay, until it is stopped.
int VerbPoll(const PollArgs& args);

struct RelayArgs {
  std::string config;           // walpost.toml
  std::string trace;            // file that takes the stages of each event; "": none
  std::string sleep_per_batch;  // "10ms"; "": none
  int lose_every = 0;           // events; 0: none
};
// A target's process: walpost's relay with something put in between.
int VerbRelay(const RelayArgs& args);

struct CompareArgs {
  std::string before, after;  // result files
};
int VerbCompare(const CompareArgs& args);

struct ReportArgs {
  std::string result, html;
};
// Draws the report of a result file again.
int VerbReport(const ReportArgs& args);

}  // namespace walpost::bench
