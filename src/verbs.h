// What the verbs of the command line take, and their functions: one verb_*.cc each. main.cc parses.
//
// Each returns the exit code of the process. Data goes to standard output, talk to standard error.
#pragma once

#include <string>
#include <vector>

#include "base/exit_code.h"
#include "config.h"
#include "conninfo.h"

namespace walpost {

// Given to every verb that reads the configuration.
struct ConfigArgs {
  std::string file;                   // --config
  std::vector<std::string> settings;  // --set SECTION.KEY=VALUE, as written
  ConnectionFlags connection;         // -d -h -p -U
};

struct RunArgs {
  ConfigArgs config;
};
struct ConfigCheckArgs {
  ConfigArgs config;
};
struct SetupArgs {
  ConfigArgs config;
  std::string slot;                 // --slot; "": as configured
  std::string publication;          // --publication
  std::vector<std::string> tables;  // --table
  std::string shape;                // --create-table A..G; "": don't
  std::string role;                 // --role; "": none
  bool apply = false;               // --apply: run the SQL instead of printing it
};
struct VersionArgs {};

// Relays until asked to stop, with a configuration that was accepted; `sources` is where it came
// from, to read its secrets again.
ExitCode VerbRun(const ConfigSources& sources, const Config& config);

int VerbConfigCheck(const ConfigCheckArgs& args);
int VerbSetup(const SetupArgs& args);
int VerbVersion(const VersionArgs& args);

// "walpost 0.1.0", and a line for each library below it.
std::string VersionText();

// The sources that `args` names: file, this process's environment, flags. `more` comes last and
// wins.
absl::StatusOr<ConfigSources> SourcesOf(const ConfigArgs& args, std::vector<Flag> more = {});

// "walpost: message", then "HINT: ..." where there is one, on standard error. Returns the exit
// code.
int Fail(const absl::Status& status);

}  // namespace walpost
