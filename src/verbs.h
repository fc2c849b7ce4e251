// What the verbs of the command line take, and their functions: one verb_*.cc each. main.cc parses.
//
// Each returns the exit code of the process. Data goes to standard output, talk to standard error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/conninfo.h"
#include "base/exit_code.h"
#include "config.h"

namespace walpost {

struct RelayParts;  // relay.h

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
struct ConfigShowArgs {
  ConfigArgs config;
  bool all = false;     // --effective: defaults too
  bool reveal = false;  // --reveal: secrets too
};
struct CheckArgs {
  ConfigArgs config;
  std::string output;  // text | json
};
struct PeekArgs {
  ConfigArgs config;
  std::size_t count = 10;    // -n
  int timeout_seconds = 30;  // --timeout
};
struct TailArgs {
  ConfigArgs config;
  std::vector<std::string> topics;  // none: those of routing.topic
  std::size_t count = 0;            // -n; 0: without end
  bool from_beginning = false;
  bool no_follow = false;
};
struct CompletionArgs {
  std::string shell;  // bash | zsh | fish
};
struct VersionArgs {};

// Relays until asked to stop, with a configuration that was accepted; `sources` is where it came
// from, to read its secrets again. `adapt` may put something between the relay and its parts, as
// the harness in bench/ does.
ExitCode VerbRun(const ConfigSources& sources, const Config& config,
                 const std::function<void(RelayParts&)>& adapt = nullptr);

int VerbCheck(const CheckArgs& args);
int VerbPeek(const PeekArgs& args);
int VerbTail(const TailArgs& args);
int VerbConfigShow(const ConfigShowArgs& args);
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
