// The command line: a table of verbs, each with its options and its function.

// g++ 12 at -O2 sees a null pointer in a std::string that CLI11 moves: a false positive.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <CLI/CLI.hpp>
#pragma GCC diagnostic pop

#include <functional>
#include <iostream>
#include <span>
#include <string>

#include "base/status.h"
#include "outbox_shapes.h"
#include "verbs.h"

namespace walpost {
namespace {

void AddConfigOptions(CLI::App& app, ConfigArgs& args) {
  app.add_option("--config", args.file, "TOML file with the configuration")->type_name("FILE");
  app.add_option("--set", args.settings, "set a key, over file and environment; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("-d,--dsn", args.connection.dsn, "database name, connection string or URI")
      ->type_name("DSN");
  app.add_option("-h,--host", args.connection.host,
                 "server's host, or the directory of its socket");
  app.add_option("-p,--port", args.connection.port, "server's port");
  app.add_option("-U,--username", args.connection.user, "role to connect as");
}

std::string ShapesHelp() {
  std::string text = "make the table where it doesn't exist, in the shape";
  for (const OutboxShape& shape : OutboxShapes()) {
    text += std::string("\n") + shape.letter + ": " + std::string(shape.about);
  }
  return text;
}

void AddSetupOptions(CLI::App& app, SetupArgs& args) {
  AddConfigOptions(app, args.config);
  app.add_option("--slot", args.slot, "replication slot (source.slot)")->type_name("NAME");
  app.add_option("--publication", args.publication, "publication (source.publication)")
      ->type_name("NAME");
  app.add_option("--table", args.tables, "outbox table (source.table); may be repeated")
      ->type_name("SCHEMA.TABLE")
      ->allow_extra_args(false);
  app.add_option("--create-table", args.shape, ShapesHelp())->type_name("A..G");
  app.add_option("--role", args.role, "least-privilege role for the relay, to be made too")
      ->type_name("NAME");
  app.add_flag("--apply", args.apply, "run the SQL instead of printing it");
}

int Run(const RunArgs& args) {
  const absl::StatusOr<ConfigSources> sources = SourcesOf(args.config);
  if (!sources.ok()) return Fail(sources.status());
  const absl::StatusOr<Config> config = LoadConfig(*sources);
  if (!config.ok()) return Fail(config.status());
  return static_cast<int>(VerbRun(*sources, *config));
}

// Registers the verb; `chosen` becomes what runs it once the line is parsed.
template <typename Args>
void AddVerb(CLI::App& parent, const char* name, const char* about,
             void (*add_options)(CLI::App&, Args&), int (*function)(const Args&), Args& args,
             std::function<int()>& chosen) {
  CLI::App* verb = parent.add_subcommand(name, about);
  add_options(*verb, args);
  verb->callback(
      [&args, &chosen, function] { chosen = [&args, function] { return function(args); }; });
}

struct Verbs {
  RunArgs run;
  SetupArgs setup;
  ConfigCheckArgs config_check;
  VersionArgs version;
  std::function<int()> chosen;
};

void AddVerbs(CLI::App& app, Verbs& verbs) {
  AddVerb<RunArgs>(
      app, "run", "relay outbox events to the sink until asked to stop",
      [](CLI::App& verb, RunArgs& args) { AddConfigOptions(verb, args.config); }, &Run, verbs.run,
      verbs.chosen);
  AddVerb<SetupArgs>(app, "setup", "print or apply publication, slot, outbox table and role",
                     &AddSetupOptions, &VerbSetup, verbs.setup, verbs.chosen);
  CLI::App* config = app.add_subcommand("config", "look at the configuration");
  config->require_subcommand(1);
  AddVerb<ConfigCheckArgs>(
      *config, "check", "whether the configuration would be accepted; touches nothing",
      [](CLI::App& verb, ConfigCheckArgs& args) { AddConfigOptions(verb, args.config); },
      &VerbConfigCheck, verbs.config_check, verbs.chosen);
  AddVerb<VersionArgs>(
      app, "version", "version of walpost and of the libraries it uses",
      [](CLI::App&, VersionArgs&) {}, &VerbVersion, verbs.version, verbs.chosen);
}

int Main(int argc, char** argv) {
  CLI::App app("walpost: Postgres outbox events to Kafka, in commit order", "walpost");
  app.set_help_flag("--help", "this text");  // -h is the host, as in psql; inherited by the verbs
  app.set_version_flag("--version", VersionText, "version of walpost and its libraries");
  app.require_subcommand(1);
  Verbs verbs;
  AddVerbs(app, verbs);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    return Fail(WithExitCode(
        WithHint(Error(absl::StatusCode::kInvalidArgument, error.what()), "see walpost --help"),
        ExitCode::kUsage));
  }
  return verbs.chosen();
}

}  // namespace
}  // namespace walpost

int main(int argc, char** argv) { return walpost::Main(argc, argv); }
