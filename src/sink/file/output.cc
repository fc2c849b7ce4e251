#include "sink/file/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"
#include "sink/file/torn_tail.h"

namespace walpost::sink::file {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status SystemError(std::string_view what, int error) {
  const auto code = error == EACCES || error == EPERM || error == EROFS
                        ? absl::StatusCode::kPermissionDenied
                        : absl::StatusCode::kUnavailable;
  return Error(code, absl::StrCat(ToAbsl(what), ": ", std::strerror(error)));
}

class FileOutput final : public Output {
 public:
  FileOutput(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::Status Write(std::string_view bytes,
                     int /*stop_fd: a file never blocks for long*/) override {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed("writing", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (fdatasync(fd_.get()) != 0) return Failed("syncing", errno);
    return absl::OkStatus();
  }

 private:
  absl::Status Failed(std::string_view what, int error) const {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat(ToAbsl(what), " '", path_, "': ", std::strerror(error)));
  }

  Descriptor fd_;
  std::string path_;
};

class StreamOutput final : public Output {
 public:
  explicit StreamOutput(int fd) : fd_(fd) {}

  absl::Status Write(std::string_view bytes, int stop_fd) override {
    while (!bytes.empty()) {
      RETURN_IF_ERROR(AwaitRoom(stop_fd));
      const ssize_t written =
          write(fd_, bytes.data(), std::min(bytes.size(), limits::kStreamWrite));
      if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (written < 0) return SystemError("writing to standard output", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AwaitRoom(int stop_fd) const {
    pollfd fds[] = {{fd_, POLLOUT, 0}, {stop_fd, POLLIN, 0}};
    while (poll(fds, 2, -1) < 0) {
      if (errno != EINTR) return SystemError("waiting for standard output", errno);
    }
    if (fds[1].revents != 0) return Error(absl::StatusCode::kCancelled, "the sink was closed");
    return absl::OkStatus();
  }

  int fd_;
};

// A new file is only there after a crash if its folder was synced too.
absl::Status SyncFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  const Descriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) != 0) {
    return SystemError(absl::StrCat("syncing '", folder, "'"), errno);
  }
  return absl::OkStatus();
}

absl::Status CutTornTail(int fd, const std::string& path, std::uint64_t size, Framing framing) {
  ASSIGN_OR_RETURN(const std::uint64_t end, framing == Framing::kLines ? EndOfLastLine(fd, size)
                                                                       : EndOfLastRecord(fd, size));
  if (end == size) return absl::OkStatus();
  if (ftruncate(fd, static_cast<off_t>(end)) != 0 || fdatasync(fd) != 0) {
    return SystemError("truncating", errno);
  }
  log::Info("incomplete record cut off", {{"path", path}, {"bytes", size - end}, {"size", end}});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Output>> OpenFile(const std::string& path, Framing framing) {
  const std::string quoted = absl::StrCat("'", path, "'");
  // O_NONBLOCK: a FIFO without a reader must not hold up the start; it means nothing to a file.
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor fd(open(path.c_str(), kFlags, 0640));
  if (fd.get() < 0) return SystemError(absl::StrCat("opening ", quoted), errno);
  struct stat facts = {};
  if (fstat(fd.get(), &facts) != 0) return SystemError(absl::StrCat("fstat ", quoted), errno);
  if (!S_ISREG(facts.st_mode)) {
    return WithHint(Error(absl::StatusCode::kFailedPrecondition,
                          absl::StrCat("file.path: ", quoted, " is not a regular file")),
                    "use path = \"-\" and redirect standard output");
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? Error(absl::StatusCode::kUnavailable,
                                        absl::StrCat(quoted, " is in use by another process"))
                                : SystemError(absl::StrCat("locking ", quoted), errno);
  }
  // Again, now that nobody else writes.
  if (fstat(fd.get(), &facts) != 0) return SystemError(absl::StrCat("fstat ", quoted), errno);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (absl::Status cut = CutTornTail(fd.get(), path, size, framing); !cut.ok()) {
    return WithContext(cut, quoted);
  }
  RETURN_IF_ERROR(SyncFolder(path));
  return std::unique_ptr<Output>(new FileOutput(std::move(fd), path));
}

std::unique_ptr<Output> OpenStream(int fd) { return std::make_unique<StreamOutput>(fd); }

}  // namespace walpost::sink::file
