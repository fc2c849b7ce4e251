#include "sd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace walpost {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

SdNotify::SdNotify() : socket_(Variable("NOTIFY_SOCKET")) {
  std::int64_t microseconds = 0;
  std::int64_t pid = 0;
  if (socket_.empty() || !absl::SimpleAtoi(Variable("WATCHDOG_USEC"), &microseconds)) return;
  // The variables may be inherited from a parent that they were meant for.
  if (absl::SimpleAtoi(Variable("WATCHDOG_PID"), &pid) && pid != getpid()) return;
  interval_ = absl::Microseconds(microseconds) / 2;
  next_beat_ = MonotonicNow();
}

void SdNotify::Ready() { Send(absl::StrCat("READY=1\nSTATUS=", ToAbsl(NameOf(state_)))); }

void SdNotify::Stopping(absl::Duration most) {
  Send(absl::StrCat("STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=",
                    absl::ToInt64Microseconds(most)));
}

void SdNotify::Beat(MonotonicTime now, RelayState state) {
  if (state != state_) {
    state_ = state;
    Send(absl::StrCat("STATUS=", ToAbsl(NameOf(state))));
  }
  if (now < next_beat_) return;
  Send("WATCHDOG=1");
  next_beat_ = now + interval_;
}

void SdNotify::Send(std::string_view text) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // the abstract name space
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A supervisor that doesn't listen is none of the relay's troubles.
  (void)sendto(fd, text.data(), text.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size);  // NOLINT: the socket API's form
  close(fd);
}

}  // namespace walpost
