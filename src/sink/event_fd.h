// The descriptor by which a sink's threads wake the loop: readable from Signal() until Clear().
//
// Thread: any.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"

namespace walpost::sink {

class EventFd {
 public:
  // Errors: kUnavailable (no descriptor left).
  static absl::StatusOr<EventFd> Create() {
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
      return Error(absl::StatusCode::kUnavailable, std::string("eventfd: ") + std::strerror(errno));
    }
    return EventFd(fd);
  }

  EventFd(EventFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  EventFd& operator=(EventFd&&) = delete;
  ~EventFd() {
    if (fd_ >= 0) close(fd_);
  }

  int fd() const { return fd_; }

  // A full counter (EAGAIN) is readable too, so the result says nothing.
  void Signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
  }

  // Call it before looking for work, never after: what comes in between must signal anew.
  void Clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(fd_, &count, sizeof count);
  }

 private:
  explicit EventFd(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace walpost::sink
