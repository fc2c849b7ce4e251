#include "harness/running.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kSampleInterval = absl::Milliseconds(100);
constexpr absl::Duration kStopGrace = absl::Seconds(20);

// The processes of a group: a script may have started its relay below itself.
std::vector<pid_t> ProcessesOf(pid_t group) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &pid) && getpgid(pid) == group)
      pids.push_back(pid);
  }
  return pids;
}

// CPU that was used stays used when a process ends.
void KeepWhatWasUsed(Usage& now, const Usage& before) {
  now.cpu_seconds = std::max(now.cpu_seconds, before.cpu_seconds);
  now.peak_bytes = std::max(now.peak_bytes, before.peak_bytes);
}

double Share(double cpu_seconds, absl::Duration elapsed) {
  return elapsed > absl::ZeroDuration() ? cpu_seconds / absl::ToDoubleSeconds(elapsed) : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunningTarget>> RunningTarget::Start(const Target& target,
                                                                    const Assignment& assignment,
                                                                    Postgres& postgres) {
  ASSIGN_OR_RETURN(Command command, target.Prepare(assignment));
  command.log_file = assignment.directory + "/log";
  std::unique_ptr<RunningTarget> running(new RunningTarget());
  running->slot_ = assignment.slot;
  running->application_name_ = target.application_name();
  running->postgres_ = &postgres;
  running->started_ = MonotonicNow();
  ASSIGN_OR_RETURN(running->process_, Process::Start(command));
  running->group_ = running->process_.pid();
  running->sampler_ = std::thread([self = running.get()] { self->Sample(); });
  return running;
}

RunningTarget::~RunningTarget() { Stop(); }

void RunningTarget::Stop() {
  if (sampler_.joinable()) {
    CostNow();
    stopping_ = true;
    sampler_.join();
  }
  process_.Stop(kStopGrace);
}

absl::StatusOr<pid_t> RunningTarget::ServerPid(Postgres& postgres) const {
  ASSIGN_OR_RETURN(
      const std::string pid,
      postgres.Value(
          slot_.empty()
              ? absl::StrCat("SELECT pid AS value FROM pg_stat_activity WHERE application_name = '",
                             application_name_, "'")
              : absl::StrCat(
                    "SELECT active_pid AS value FROM pg_replication_slots WHERE slot_name = '",
                    slot_, "'")));
  pid_t number = 0;
  return absl::SimpleAtoi(pid, &number) ? number : 0;
}

absl::Status RunningTarget::WaitReady(absl::Duration limit) {
  absl::Status failure;
  const bool ready = WaitUntil(limit, [&] {
    const absl::StatusOr<pid_t> pid = ServerPid(*postgres_);
    failure = pid.ok() ? Alive() : pid.status();
    if (pid.ok()) server_pid_ = *pid;
    return !failure.ok() || Ended() || server_pid_ != 0;
  });
  if (!failure.ok()) return failure;
  if (!ready) {
    return Error(absl::StatusCode::kDeadlineExceeded,
                 absl::StrCat("not at work after ", absl::FormatDuration(limit), ":\n",
                              TailOf(process_.log_file())));
  }
  return absl::OkStatus();
}

absl::Status RunningTarget::Alive() {
  if (process_.Running() || process_.exit_code() == 0) return absl::OkStatus();
  return Error(absl::StatusCode::kUnavailable, absl::StrCat("ended with ", process_.exit_code(),
                                                            ":\n", TailOf(process_.log_file())));
}

Cost RunningTarget::CostNow() {
  Cost now{
      .at = MonotonicNow(), .target = Sum(ProcessesOf(group_)), .server = UsageOf(server_pid_)};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!samples_.empty()) {
    KeepWhatWasUsed(now.target, samples_.back().target);
    KeepWhatWasUsed(now.server, samples_.back().server);
  }
  samples_.push_back(now);
  return now;
}

void RunningTarget::Sample() {
  for (MonotonicTime next = MonotonicNow(); !stopping_; next = next + kSampleInterval) {
    SleepUntil(next);
    CostNow();
  }
}

nlohmann::json RunningTarget::Series(MonotonicTime since) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  nlohmann::json series = nlohmann::json::array();
  // A clock tick of /proc is 10 ms: shares over less than half a second would be noise.
  const Cost* before = nullptr;
  for (const Cost& sample : samples_) {
    if (sample.at < since) continue;
    if (before == nullptr) before = &sample;
    const absl::Duration elapsed = sample.at - before->at;
    if (elapsed < absl::Milliseconds(500)) continue;
    series.push_back({absl::ToDoubleSeconds(sample.at - since),
                      Share(sample.target.cpu_seconds - before->target.cpu_seconds, elapsed),
                      sample.target.resident_bytes,
                      Share(sample.server.cpu_seconds - before->server.cpu_seconds, elapsed)});
    before = &sample;
  }
  return series;
}

nlohmann::json CostBetween(const Cost& from, const Cost& to, std::int64_t events) {
  const double target = to.target.cpu_seconds - from.target.cpu_seconds;
  const double server = to.server.cpu_seconds - from.server.cpu_seconds;
  nlohmann::json cost = {{"cpu_seconds", target},
                         {"cpu_share", Share(target, to.at - from.at)},
                         {"server_cpu_seconds", server},
                         {"server_cpu_share", Share(server, to.at - from.at)},
                         {"peak_bytes", to.target.peak_bytes},
                         {"server_peak_bytes", to.server.peak_bytes}};
  const auto per_event = [events](double seconds) {
    return events > 0 ? nlohmann::json(seconds * 1e6 / static_cast<double>(events))
                      : nlohmann::json();
  };
  cost["cpu_us_per_event"] = per_event(target);
  cost["server_cpu_us_per_event"] = per_event(server);
  return cost;
}

}  // namespace walpost::bench
