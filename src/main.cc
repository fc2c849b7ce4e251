// The command line: a table of verbs, each with its options and its function.

// g++ 12 at -O2 sees a null pointer in a std::string that CLI11 moves: a false positive.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <CLI/CLI.hpp>
#pragma GCC diagnostic pop

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "command_line.h"
#include "completion.h"
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

void AddCheckOptions(CLI::App& app, CheckArgs& args) {
  AddConfigOptions(app, args.config);
  app.add_option("-o,--output", args.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_val("text");
}

void AddPeekOptions(CLI::App& app, PeekArgs& args) {
  AddConfigOptions(app, args.config);
  app.add_option("-n,--count", args.count, "how many events at most")->default_val(10);
  app.add_option("--timeout", args.timeout_seconds, "seconds after which to stop looking")
      ->check(CLI::Range(1, 3600))
      ->default_val(30);
}

void AddTailOptions(CLI::App& app, TailArgs& args) {
  AddConfigOptions(app, args.config);
  app.add_option("topics", args.topics, "topics; default: all that routing.topic can lead to")
      ->type_name("TOPIC");
  app.add_option("-n,--count", args.count, "stop after so many messages; 0: never")->default_val(0);
  app.add_flag("--from-beginning", args.from_beginning, "what is there already too");
  app.add_flag("--no-follow", args.no_follow, "stop at the ends of the topics");
}

void AddShowOptions(CLI::App& app, ConfigShowArgs& args) {
  AddConfigOptions(app, args.config);
  app.add_flag("--effective", args.all, "keys with their defaults too");
  app.add_flag("--reveal", args.reveal, "secrets too");
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

// The tree of verbs as the completion scripts need it.
std::vector<CompletionWords> WordsOf(const CLI::App& app, const std::string& path) {
  CompletionWords words{path, {}, {}};
  for (const CLI::App* verb : app.get_subcommands({})) words.verbs.push_back(verb->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.options.push_back("--" + name);
  }
  std::vector<CompletionWords> all = {std::move(words)};
  for (const CLI::App* verb : app.get_subcommands({})) {
    const std::string below = path.empty() ? verb->get_name() : path + " " + verb->get_name();
    for (CompletionWords& more : WordsOf(*verb, below)) all.push_back(std::move(more));
  }
  return all;
}

struct Verbs {
  RunArgs run;
  SetupArgs setup;
  CheckArgs check;
  PeekArgs peek;
  TailArgs tail;
  ConfigCheckArgs config_check;
  ConfigShowArgs config_show;
  CompletionArgs completion;
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
  AddVerb<CheckArgs>(app, "check", "look at everything a relay needs, before it is started",
                     &AddCheckOptions, &VerbCheck, verbs.check, verbs.chosen);
  AddVerb<PeekArgs>(app, "peek", "show the slot's next events without consuming them",
                    &AddPeekOptions, &VerbPeek, verbs.peek, verbs.chosen);
  AddVerb<TailArgs>(app, "tail", "show what arrives on the topics", &AddTailOptions, &VerbTail,
                    verbs.tail, verbs.chosen);
  CLI::App* config = app.add_subcommand("config", "look at the configuration");
  config->require_subcommand(1);
  AddVerb<ConfigCheckArgs>(
      *config, "check", "whether the configuration would be accepted; touches nothing",
      [](CLI::App& verb, ConfigCheckArgs& args) { AddConfigOptions(verb, args.config); },
      &VerbConfigCheck, verbs.config_check, verbs.chosen);
  AddVerb<ConfigShowArgs>(*config, "show", "the configuration with the origin of each value",
                          &AddShowOptions, &VerbConfigShow, verbs.config_show, verbs.chosen);
  CLI::App* slots = app.add_subcommand("slots", "look after replication slots, of any plugin");
  slots::AddCommands(*slots, [&verbs](std::function<absl::StatusOr<int>()> command) {
    verbs.chosen = [command = std::move(command)] {
      const absl::StatusOr<int> code = command();
      return code.ok() ? *code : Fail(code.status());
    };
  });
  CLI::App* completion = app.add_subcommand("completion", "print a completion script for a shell");
  completion->add_option("shell", verbs.completion.shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
  completion->callback([&app, &verbs] {
    verbs.chosen = [&app, &verbs] {
      std::cout << CompletionScript(verbs.completion.shell, WordsOf(app, ""));
      return 0;
    };
  });
  AddVerb<VersionArgs>(
      app, "version", "version of walpost and of the libraries it uses",
      [](CLI::App&, VersionArgs&) {}, &VerbVersion, verbs.version, verbs.chosen);
}

// A socket that took the number of a closed standard stream would get the log.
void OpenStandardStreams() {
  int fd = -1;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

int Main(int argc, char** argv) {
  OpenStandardStreams();
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
