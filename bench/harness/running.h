// One target at work: its process, the server's process that serves it, and what both cost over time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "harness/process.h"
#include "targets/target.h"

namespace walpost::bench {

// What was used up to one moment.
struct Cost {
  MonotonicTime at;
  Usage target;  // all processes of its group; peak_bytes is the sum of their peaks
  Usage server;  // the walsender or backend that serves it
};

// Thread: one, beside its own that samples every 100 ms.
class RunningTarget {
 public:
  static absl::StatusOr<std::unique_ptr<RunningTarget>> Start(const Target& target,
                                                              const Assignment& assignment,
                                                              Postgres& postgres);
  ~RunningTarget();

  // Until the server has a process for it: it streams, or polls. Errors: kUnavailable if it ends,
  // kDeadlineExceeded; both with the end of its log.
  absl::Status WaitReady(absl::Duration limit);
  // An error once it has ended with anything but 0.
  absl::Status Alive();
  bool Ended() { return !process_.Running(); }
  double exit_cpu_seconds() const { return process_.exit_cpu_seconds(); }  // once it has ended
  // SIGTERM; what it cost stays.
  void Stop();

  MonotonicTime started() const { return started_; }
  Cost CostNow();  // a fresh sample
  // From `since` on: [[seconds, CPU share of the target, resident bytes, CPU share of the server's process], …]
  nlohmann::json Series(MonotonicTime since) const;

 private:
  RunningTarget() = default;
  absl::StatusOr<pid_t> ServerPid(Postgres& postgres) const;
  void Sample();

  std::string slot_, application_name_;
  Postgres* postgres_ = nullptr;
  Process process_;
  pid_t group_ = 0;
  MonotonicTime started_;
  std::atomic<pid_t> server_pid_ = 0;
  mutable std::mutex mutex_;
  std::vector<Cost> samples_;  // by mutex_
  std::atomic<bool> stopping_ = false;
  std::thread sampler_;
};

// {"cpu_share": of one core, "server_cpu_share", "peak_bytes", …} between two samples.
nlohmann::json CostBetween(const Cost& from, const Cost& to, std::int64_t events);

}  // namespace walpost::bench
