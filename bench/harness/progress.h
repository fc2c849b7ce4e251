// What the run is at and how long it still takes, on standard error: one line that is written over on
// a terminal, a line a step elsewhere.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "base/clock.h"

namespace walpost::bench {

// Thread: one.
class Progress {
 public:
  // Adds a step that is expected to take so long; all are planned before the first one begins.
  void Plan(absl::Duration expected) { planned_ = planned_ + expected; }
  // Begins a step, which ends where the next one begins.
  void Step(const std::string& what, absl::Duration expected);
  void End();

 private:
  void Show(const std::string& what) const;

  absl::Duration planned_;
  absl::Duration done_;     // of what was planned
  absl::Duration current_;  // of the step that runs
  MonotonicTime began_;
  bool any_ = false;
};

}  // namespace walpost::bench
