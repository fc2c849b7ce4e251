// Where the file sink's bytes go: a regular file, or standard output.
//
// A file is locked against a second relay, cut back to its last whole record when opened, and
// synced. Standard output may be a pipe that nobody reads: it stays in blocking mode (it is shared
// with whoever started the process), and is written in pieces that can't block.
//
// Thread: created by the loop, then used by the writer's thread alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace walpost::sink::file {

enum class Framing { kLines, kLengthDelimited };

class Output {
 public:
  virtual ~Output() = default;

  // All of `bytes`, as durable as this output can make them; returns early with kCancelled when
  // `stop_fd` becomes readable. Errors: kUnavailable (what the system says).
  virtual absl::Status Write(std::string_view bytes, int stop_fd) = 0;
};

// Errors: kFailedPrecondition (not a regular file, or of another format), kPermissionDenied,
// kUnavailable (held by another process, disk full, …).
absl::StatusOr<std::unique_ptr<Output>> OpenFile(const std::string& path, Framing framing);

// Writes to `fd`, which stays the caller's.
std::unique_ptr<Output> OpenStream(int fd);

}  // namespace walpost::sink::file
