// Exponential back-off with full jitter.
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace walpost {

struct BackoffOptions {
  absl::Duration first = absl::Milliseconds(100);  // upper bound of the first wait
  absl::Duration most = absl::Seconds(10);         // no wait is longer
};

// Thread: loop only. Randomness comes in as a seed, so that a simulation repeats itself.
class Backoff {
 public:
  Backoff(BackoffOptions options, std::uint64_t seed) : options_(options), random_(seed) {}

  // The next wait: between half of the current bound and the bound, which then doubles. Never
  // shorter than `least`.
  absl::Duration Next(absl::Duration least = absl::ZeroDuration());

  // After success: the next failure starts from the beginning.
  void Reset() { attempts_ = 0; }

 private:
  BackoffOptions options_;
  std::mt19937_64 random_;
  int attempts_ = 0;
};

}  // namespace walpost
