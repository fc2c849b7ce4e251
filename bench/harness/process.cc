#include "harness/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_view.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

// Runs in the child; returns only if that failed.
void Become(const Command& command, int output) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  argv.reserve(command.argv.size() + 1);
  for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// 0 for what is no number.
std::int64_t Number(std::string_view text) {
  std::int64_t number = 0;
  return absl::SimpleAtoi(ToAbsl(text), &number) ? number : 0;
}

// The number after `name:` in /proc/PID/status.
std::int64_t StatusField(const std::string& status, const std::string& name) {
  const std::size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return 0;
  const std::size_t begin = status.find_first_not_of(" 	", at + name.size() + 2);
  return Number(status.substr(begin, status.find_first_of(" \n", begin) - begin));
}

}  // namespace

absl::StatusOr<Process> Process::Start(const Command& command) {
  const std::string log = command.log_file.empty() ? "/dev/null" : command.log_file;
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0)
    return Error(absl::StatusCode::kFailedPrecondition, absl::StrCat("cannot write ", log));
  const pid_t pid = fork();
  if (pid == 0) {
    Become(command, output);
    std::perror(command.argv[0].c_str());
    _exit(127);
  }
  close(output);
  if (pid < 0) return Error(absl::StatusCode::kUnavailable, "fork failed");
  Process process;
  process.pid_ = process.group_ = pid;
  process.log_file_ = command.log_file;
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(group_, other.group_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(exit_cpu_seconds_, other.exit_cpu_seconds_);
  std::swap(log_file_, other.log_file_);
  return *this;
}

Process::~Process() { Stop(absl::ZeroDuration()); }

bool Process::Running() {
  if (pid_ == 0) return false;
  int status = 0;
  rusage usage{};
  if (wait4(pid_, &status, WNOHANG, &usage) != pid_) return true;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  exit_cpu_seconds_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = 0;
  return false;
}

void Process::Stop(absl::Duration grace) {
  if (group_ == 0) return;
  // The whole group: a script may have started its relay without exec.
  kill(-group_, SIGTERM);
  WaitUntil(grace, [this] { return !Running() && kill(-group_, 0) != 0; });
  kill(-group_, SIGKILL);
  WaitUntil(absl::Seconds(10), [this] { return !Running(); });
  group_ = 0;
}

absl::StatusOr<std::string> RunTool(const std::vector<std::string>& argv) {
  char path[] = "/tmp/walpost-bench-tool.XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return Error(absl::StatusCode::kUnavailable, "no temporary file");
  close(file);
  absl::StatusOr<Process> process = Process::Start({.argv = argv, .log_file = path});
  const bool ended =
      process.ok() && WaitUntil(absl::Minutes(15), [&] { return !process->Running(); });
  std::string output = ReadAll(path);
  unlink(path);
  if (!process.ok()) return process.status();
  if (!ended || process->exit_code() != 0) {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat(absl::StrJoin(argv, " "), " failed: ", output));
  }
  return output;
}

std::string TailOf(const std::string& file) {
  const std::string text = ReadAll(file);
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (lines.size() > 5) lines.erase(lines.begin(), lines.end() - 5);
  return absl::StrJoin(lines, "\n");
}

Usage UsageOf(pid_t pid) {
  const std::string directory = absl::StrCat("/proc/", pid);
  const std::string stat = ReadAll(directory + "/stat");
  const std::size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return {};
  // Fields from the third on: state is [0], utime [11], stime [12].
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(after_name + 2), ' ');
  if (fields.size() < 13) return {};
  const std::string status = ReadAll(directory + "/status");
  Usage usage;
  usage.cpu_seconds = static_cast<double>(Number(fields[11]) + Number(fields[12])) /
                      static_cast<double>(sysconf(_SC_CLK_TCK));
  usage.resident_bytes = StatusField(status, "VmRSS") * 1024;
  usage.peak_bytes = StatusField(status, "VmHWM") * 1024;
  return usage;
}

Usage Sum(const std::vector<pid_t>& pids) {
  Usage sum;
  for (const pid_t pid : pids) {
    const Usage one = UsageOf(pid);
    sum.cpu_seconds += one.cpu_seconds;
    sum.resident_bytes += one.resident_bytes;
    sum.peak_bytes += one.peak_bytes;
  }
  return sum;
}

}  // namespace walpost::bench
