// What is measured: one relay, as a command to run. Adding one touches one file and a row in
// target_table.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "harness/process.h"
#include "harness/servers.h"

namespace walpost::bench {

// Where the programs are.
struct Programs {
  std::string self;     // walpost-bench: some targets are verbs of it
  std::string walpost;  // the relay under test
  std::string bundled;  // the same with the newer librdkafka linked in; "": not built
  std::string tools;
};

// The work that a target is given: the same for each of a scenario.
struct Assignment {
  const Postgres* postgres = nullptr;
  bool unix_socket = false;
  std::string bootstrap;
  std::string slot;  // "": a target that reads the table
  std::string publication;
  std::string topic;
  std::string directory;  // for its files; its own
  Lsn end;                // of a backlog; 0: none, it runs until it is stopped

  std::string dsn() const { return postgres->dsn(unix_socket); }
};

enum class Reads { kSlot, kTable };
enum class Delivers { kToKafka, kNothing };

class Target {
 public:
  virtual ~Target() = default;

  virtual std::string name() const = 0;
  virtual std::string about() const = 0;  // one line, for the report
  virtual Reads reads() const { return Reads::kSlot; }
  virtual Delivers delivers() const { return Delivers::kToKafka; }
  // Columns and indexes that it needs beside the event's own: SQL to be run after CREATE TABLE.
  virtual std::string TableSql() const { return ""; }
  // How long it takes until it is as fast as it gets.
  virtual absl::Duration warm_up() const { return absl::ZeroDuration(); }
  // Name and version of the program. Errors: kFailedPrecondition with a HINT where it isn't there.
  virtual absl::StatusOr<std::string> Version() const = 0;
  // The settings that decide its speed, for the report.
  virtual std::map<std::string, std::string> Settings() const { return {}; }
  // Writes the files it needs into assignment.directory.
  virtual absl::StatusOr<Command> Prepare(const Assignment& assignment) const = 0;
  // application_name of its sessions, where they are ordinary ones.
  virtual std::string application_name() const { return ""; }
};

// Every target by its name, "cmd:SCRIPT" included. Errors: kInvalidArgument lists the names.
absl::StatusOr<std::unique_ptr<Target>> MakeTarget(const std::string& name,
                                                   const Programs& programs);

struct TargetRow {
  std::string_view name;
  std::unique_ptr<Target> (*make)(const Programs& programs, std::string_view name);
};
const std::vector<TargetRow>& Targets();

// What the files of this folder give to the table. `name` is the row's.
std::unique_ptr<Target> MakeWalpost(const Programs& programs, std::string_view name);
std::unique_ptr<Target> MakeReader(const Programs& programs, std::string_view name);
std::unique_ptr<Target> MakePgRecvlogical(const Programs& programs, std::string_view name);
std::unique_ptr<Target> MakePoller(const Programs& programs, std::string_view name);
std::unique_ptr<Target> MakeDebezium(const Programs& programs, std::string_view name);
std::unique_ptr<Target> MakeCommand(const Programs& programs, std::string_view name);

// Writes `text` to directory/name. The path.
absl::StatusOr<std::string> WriteFile(const std::string& directory, const std::string& name,
                                      const std::string& text);

}  // namespace walpost::bench
