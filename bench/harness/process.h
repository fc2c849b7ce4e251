// Child processes, and what they cost by /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace walpost::bench {

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // beside ours
  std::string log_file;                            // takes both outputs; "": /dev/null
};

// One child in a process group of its own; the destructor kills it. Thread: one.
class Process {
 public:
  static absl::StatusOr<Process> Start(const Command& command);
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  const std::string& log_file() const { return log_file_; }
  // False once it has ended; then exit_code() is known (128 + signal for one that was killed).
  bool Running();
  int exit_code() const { return exit_code_; }
  double exit_cpu_seconds() const { return exit_cpu_seconds_; }
  // SIGTERM to its whole group, and SIGKILL once `grace` has passed.
  void Stop(absl::Duration grace);

 private:
  pid_t pid_ = 0;    // 0: none, or ended and waited for
  pid_t group_ = 0;  // 0: none, or stopped
  double exit_cpu_seconds_ = 0;
  int exit_code_ = -1;
  std::string log_file_;
};

// Runs to the end; its standard output. Errors: kUnavailable with what it said if it fails.
absl::StatusOr<std::string> RunTool(const std::vector<std::string>& argv);

// The last lines of a log, for a message.
std::string TailOf(const std::string& file);

struct Usage {
  double cpu_seconds = 0;  // user and system, of all threads
  std::int64_t resident_bytes = 0;
  std::int64_t peak_bytes = 0;  // VmHWM
};

// Of a living process; all 0 if there is none.
Usage UsageOf(pid_t pid);

// What all the processes of one relay cost.
Usage Sum(const std::vector<pid_t>& pids);

}  // namespace walpost::bench
