#include "command_line.h"

// g++ 12 at -O2 sees a null pointer in a std::string that CLI11 moves: a false positive.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnull-dereference"
#include <CLI/CLI.hpp>
#pragma GCC diagnostic pop

#include <memory>

#include "base/settings.h"
#include "commands.h"

namespace walpost::slots {
namespace {

void AddCommon(CLI::App& app, CommonArgs& args) {
  app.add_option("-d,--dsn,connection", args.connection.dsn,
                 "database name, connection string or URI, as for psql");
  app.add_option("-h,--host", args.connection.host, "server's host, or its socket's directory");
  app.add_option("-p,--port", args.connection.port, "server's port");
  app.add_option("-U,--username", args.connection.user, "role to connect as");
  app.add_option("-o,--output", args.output, "table, json, ndjson or csv")
      ->check(CLI::IsMember({"table", "json", "ndjson", "csv"}))
      ->default_val("table");
}

void AddDuration(CLI::App& app, const std::string& name, absl::Duration& value,
                 const std::string& about) {
  app.add_option_function<std::string>(
         name,
         [&value, name](const std::string& text) {
           const std::optional<absl::Duration> duration = ParseDuration(text);
           if (!duration) throw CLI::ValidationError(name, "'" + text + "' is no duration, as 5m");
           value = *duration;
         },
         about + " (" + absl::FormatDuration(value) + ")")
      ->type_name("DURATION");
}

void AddBytes(CLI::App& app, const std::string& name, std::int64_t& value,
              const std::string& about) {
  app.add_option_function<std::string>(
         name,
         [&value, name](const std::string& text) {
           const std::optional<std::uint64_t> bytes = ParseBytes(text);
           if (!bytes) throw CLI::ValidationError(name, "'" + text + "' is no size, as 1GB");
           value = static_cast<std::int64_t>(*bytes);
         },
         about)
      ->type_name("BYTES");
}

void AddName(CLI::App& app, std::string& name) {
  app.add_option("name", name, "the slot")->required();
}

void AddPublication(CLI::App& app, std::string& publication) {
  app.add_option("--publication", publication,
                 "to read its events with; default: the one named like the slot, or the only one");
}

void AddConsent(CLI::App& app, Consent& consent) {
  app.add_flag("--yes", consent.yes, "don't ask for the slot's name");
  app.add_flag("--terminate", consent.terminate, "end the session that holds the slot");
  app.add_flag("--any-plugin", consent.any_plugin, "also another application's slot");
  app.add_flag("--lose-events", consent.lose_events, "also with events that were not delivered");
  app.add_flag("--dry-run", consent.dry_run, "print the SQL and change nothing");
}

void AddOptions(CLI::App& app, ListArgs& args) {
  AddDuration(app, "--sample", args.sample, "over which the WAL rate is measured; 0s: not");
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, ShowArgs& args) {
  AddName(app, args.name);
  AddPublication(app, args.publication);
  AddDuration(app, "--old", args.old, "transactions at least so old are named");
  AddDuration(app, "--sample", args.sample, "over which the WAL rate is measured; 0s: not");
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, CreateArgs& args) {
  AddName(app, args.name);
  app.add_option("--publication", args.publication, "that it will be read with; must exist")
      ->required();
  app.add_flag("--failover", args.failover, "survives a failover (Postgres 17 and newer)");
  app.add_flag("--if-not-exists", args.if_not_exists, "no error if it exists");
  app.add_flag("--snapshot", args.snapshot,
               "export the snapshot of its start, until the end of standard input");
  AddDuration(app, "--wait", args.wait, "how long older transactions are waited for");
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, DropArgs& args) {
  AddName(app, args.name);
  AddPublication(app, args.publication);
  AddConsent(app, args.consent);
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, AdvanceArgs& args) {
  AddName(app, args.name);
  app.add_option("--to", args.to, "an LSN, end, or event:ID (behind that event's transaction)")
      ->required();
  AddPublication(app, args.publication);
  AddConsent(app, args.consent);
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, PeekArgs& args) {
  AddName(app, args.name);
  app.add_option("-n,--count", args.count, "how many at most")->default_val(10);
  app.add_option("--from", args.from, "an LSN: what was committed before is left out");
  AddDuration(app, "--timeout", args.timeout, "after which looking ends");
  AddPublication(app, args.publication);
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, FailoverArgs& args) {
  CLI::Option* name = app.add_option("name", args.name, "the slot; none: only look");
  app.add_option("state", args.state, "on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->needs(name);
  app.add_flag("--dry-run", args.dry_run, "print the command and change nothing");
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, DoctorArgs& args) {
  AddDuration(app, "--sample", args.sample, "over which the WAL rate is measured; 0s: not");
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, WatchArgs& args) {
  AddDuration(app, "--interval", args.interval, "between two looks");
  app.add_flag("--once", args.once, "one table, and leave");
  AddCommon(app, args.common);
}
void AddOptions(CLI::App& app, CheckArgs& args) {
  app.add_option("--slot", args.name, "only this slot");
  AddBytes(app, "--warn", args.limits.warn_bytes, "retained WAL that is a warning (1 GiB)");
  AddBytes(app, "--crit", args.limits.crit_bytes, "retained WAL that is critical (10 GiB)");
  AddDuration(app, "--warn-age", args.limits.warn_age, "inactive for so long is a warning");
  AddDuration(app, "--crit-age", args.limits.crit_age, "inactive for so long is critical");
  AddCommon(app, args.common);
}

using Choose = std::function<void(std::function<absl::StatusOr<int>()>)>;

template <typename Args>
void Add(CLI::App& parent, const char* name, const char* about,
         absl::StatusOr<int> (*run)(const Args&), const Choose& choose) {
  CLI::App* command = parent.add_subcommand(name, about);
  auto args = std::make_shared<Args>();
  AddOptions(*command, *args);
  command->callback([args, run, choose] { choose([args, run] { return run(*args); }); });
}

}  // namespace

void AddCommands(CLI::App& parent, const Choose& choose) {
  parent.require_subcommand(1);
  Add<ListArgs>(parent, "list", "all slots, the most endangered first", &RunList, choose);
  Add<ShowArgs>(parent, "show", "one slot, what pins it, and what to type next", &RunShow, choose);
  Add<CreateArgs>(parent, "create", "make a slot for a publication", &RunCreate, choose);
  Add<DropArgs>(parent, "drop", "show what would be lost, ask, and drop", &RunDrop, choose);
  Add<AdvanceArgs>(parent, "advance", "show what would be skipped, ask, and move the slot",
                   &RunAdvance, choose);
  Add<PeekArgs>(parent, "peek", "what it would deliver next, without consuming it", &RunPeek,
                choose);
  Add<FailoverArgs>(parent, "failover", "mark a slot to survive a failover; is the failover ready?",
                    &RunFailover, choose);
  Add<DoctorArgs>(parent, "doctor", "audit the server for logical replication", &RunDoctor, choose);
  Add<WatchArgs>(parent, "watch", "the list, live", &RunWatch, choose);
  Add<CheckArgs>(parent, "check", "a monitoring plugin: exit code 0, 1, 2 or 3", &RunCheck, choose);
}

}  // namespace walpost::slots
