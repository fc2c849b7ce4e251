// What systemd is told about a service of Type=notify: one datagram each to $NOTIFY_SOCKET. Without
// that variable nothing is sent.
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/metrics.h"

namespace walpost {

// Thread: loop only.
class SdNotify {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  SdNotify();

  // READY=1: the configuration is accepted and the loop runs. An outage is no failed start.
  void Ready();
  // STOPPING=1, and how long it may take.
  void Stopping(absl::Duration most);
  // Called in each turn of the loop: the watchdog's beat, and the state when it changed.
  void Beat(MonotonicTime now, RelayState state);
  // When Beat() must be called.
  MonotonicTime deadline() const { return next_beat_; }

 private:
  void Send(std::string_view text) const;

  std::string socket_;  // "" for none
  absl::Duration interval_ = absl::InfiniteDuration();
  MonotonicTime next_beat_ = MonotonicTime::Never();
  RelayState state_ = RelayState::kStarting;
};

}  // namespace walpost
