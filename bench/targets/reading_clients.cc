// The limits that no relay can pass: clients that read the slot and drop what they get.
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "targets/target.h"

namespace walpost::bench {
namespace {

// walpost-bench's own verb `read` (verbs/read.cc).
class Reader : public Target {
 public:
  Reader(const Programs& programs, std::string_view name)
      : self_(programs.self),
        name_(name),
        pause_(name == "reader-200us"  ? "200"
               : name == "reader-50us" ? "50"
                                       : "0") {}
  std::string name() const override { return name_; }
  std::string about() const override {
    return pause_ == "0"
               ? "reads and drops; wakes for each message"
               : absl::StrCat("reads and drops; pauses ", pause_, " us, then reads until empty");
  }
  Delivers delivers() const override { return Delivers::kNothing; }
  absl::StatusOr<std::string> Version() const override {
    return absl::StrCat("libpq ", PqLibraryVersion());
  }
  absl::StatusOr<Command> Prepare(const Assignment& assignment) const override {
    return Command{.argv = {self_, "read", "--dsn", assignment.dsn(), "--slot", assignment.slot,
                            "--publication", assignment.publication, "--end",
                            FormatLsn(assignment.end), "--pause-us", pause_}};
  }

 private:
  const std::string self_, name_, pause_;
};

class PgRecvlogical : public Target {
 public:
  std::string name() const override { return "pg_recvlogical"; }
  std::string about() const override { return "pg_recvlogical -f /dev/null: one write a message"; }
  Delivers delivers() const override { return Delivers::kNothing; }
  absl::StatusOr<std::string> Version() const override { return std::string("of the server"); }
  absl::StatusOr<Command> Prepare(const Assignment& assignment) const override {
    Command command{.argv = {assignment.postgres->program("pg_recvlogical"), "--dbname",
                             assignment.dsn(), "--slot", assignment.slot, "--start", "--file",
                             "/dev/null", "--no-loop", "--status-interval", "1", "--fsync-interval",
                             "1", "-o", "proto_version=1", "-o", "binary=true", "-o",
                             absl::StrCat("publication_names=", assignment.publication)}};
    if (assignment.end.value != 0) {
      command.argv.insert(command.argv.end(), {"--endpos", FormatLsn(assignment.end)});
    }
    return command;
  }
};

}  // namespace

std::unique_ptr<Target> MakeReader(const Programs& programs, std::string_view name) {
  return std::make_unique<Reader>(programs, name);
}

std::unique_ptr<Target> MakePgRecvlogical(const Programs&, std::string_view) {
  return std::make_unique<PgRecvlogical>();
}

}  // namespace walpost::bench
