#include "harness/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace walpost::bench {
namespace {

constexpr int kWidth = 24;

bool OnTerminal() { return isatty(STDERR_FILENO) != 0; }

}  // namespace

void Progress::Step(const std::string& what, absl::Duration expected) {
  if (!any_) began_ = MonotonicNow();
  any_ = true;
  done_ += current_;
  current_ = expected;
  Show(what);
}

void Progress::End() {
  if (OnTerminal() && any_) std::fprintf(stderr, "\r\033[K");
}

void Progress::Show(const std::string& what) const {
  const double share =
      planned_ > absl::ZeroDuration() ? std::min(1.0, absl::FDivDuration(done_, planned_)) : 0;
  // Steps take longer or shorter than planned by about the same factor.
  const double pace =
      done_ > absl::ZeroDuration() ? absl::FDivDuration(MonotonicNow() - began_, done_) : 1;
  const absl::Duration left = std::max(absl::ZeroDuration(), planned_ - done_) * pace;
  const int seconds = static_cast<int>(absl::ToInt64Seconds(left));
  const std::string bar = std::string(static_cast<std::size_t>(share * kWidth), '#');
  if (OnTerminal()) {
    std::fprintf(stderr, "\r\033[K[%-*s] %3d%%  %d:%02d left  %s", kWidth, bar.c_str(),
                 static_cast<int>(share * 100), seconds / 60, seconds % 60, what.c_str());
  } else {
    std::fprintf(stderr, "%3d%%  %d:%02d left  %s\n", static_cast<int>(share * 100), seconds / 60,
                 seconds % 60, what.c_str());
  }
}

}  // namespace walpost::bench
