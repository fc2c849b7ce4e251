// What the commands of `walpost slots` take, and their functions: one file each. command_line.cc
// parses. Data goes to standard output, talk to standard error.
//
// Each returns the exit code of the process, or a status with HINT and exit code attached.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/conninfo.h"
#include "capture/wal/slot_verdict.h"

namespace walpost::slots {

struct CommonArgs {
  ConnectionFlags connection;
  std::string output = "table";  // table | json | ndjson | csv
};

struct ListArgs {
  CommonArgs common;
  absl::Duration sample = absl::Seconds(2);  // over which the WAL rate is measured; zero: not
};

struct ShowArgs {
  CommonArgs common;
  std::string name;
  std::string publication;  // "": the one that fits
  absl::Duration sample = absl::Seconds(2);
  absl::Duration old = absl::Minutes(1);  // a younger transaction pins nothing worth a line
};

struct CreateArgs {
  CommonArgs common;
  std::string name;
  std::string publication;
  bool failover = false;
  bool if_not_exists = false;
  bool snapshot = false;
  absl::Duration wait = absl::Seconds(30);
};

// What must be said before events may be lost.
struct Consent {
  bool yes = false;          // --yes: instead of typing the name
  bool terminate = false;    // --terminate: end the session that holds it
  bool any_plugin = false;   // --any-plugin: another application's slot
  bool lose_events = false;  // --lose-events
  bool dry_run = false;      // --dry-run: print the SQL, change nothing
};

struct DropArgs {
  CommonArgs common;
  std::string name;
  std::string publication;
  Consent consent;
};

struct AdvanceArgs {
  CommonArgs common;
  std::string name;
  std::string publication;
  std::string to;  // an LSN, "end", or "event:ID": behind that event
  Consent consent;
};

struct PeekArgs {
  CommonArgs common;
  std::string name;
  std::string publication;
  std::size_t count = 10;
  std::string from;  // an LSN: what was committed before is left out; "": the slot's position
  absl::Duration timeout = absl::Seconds(30);
};

struct FailoverArgs {
  CommonArgs common;
  std::string name;   // "": only the readiness of all
  std::string state;  // on | off | ""
  bool dry_run = false;
};

struct DoctorArgs {
  CommonArgs common;
  absl::Duration sample = absl::Seconds(2);
};

struct WatchArgs {
  CommonArgs common;
  absl::Duration interval = absl::Seconds(2);
  bool once = false;
};

struct CheckArgs {
  CommonArgs common;
  capture::DangerLimits limits;
  std::string name;  // "": all
};

absl::StatusOr<int> RunList(const ListArgs& args);
absl::StatusOr<int> RunShow(const ShowArgs& args);
absl::StatusOr<int> RunCreate(const CreateArgs& args);
absl::StatusOr<int> RunDrop(const DropArgs& args);
absl::StatusOr<int> RunAdvance(const AdvanceArgs& args);
absl::StatusOr<int> RunPeek(const PeekArgs& args);
absl::StatusOr<int> RunFailover(const FailoverArgs& args);
absl::StatusOr<int> RunDoctor(const DoctorArgs& args);
absl::StatusOr<int> RunWatch(const WatchArgs& args);
// 0 OK, 1 warning, 2 critical, 3 unknown, as monitoring plugins answer.
absl::StatusOr<int> RunCheck(const CheckArgs& args);

}  // namespace walpost::slots
