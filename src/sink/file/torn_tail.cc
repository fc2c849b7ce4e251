#include "sink/file/torn_tail.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"

namespace walpost::sink::file {
namespace {

// Reads a part of a file that may be asked for piece by piece: forwards in small steps, mostly.
class Window {
 public:
  explicit Window(int fd) : fd_(fd) {}

  // The bytes from `offset` on, `most` at most; empty at the end. Valid until the next call.
  absl::StatusOr<std::string_view> At(std::uint64_t offset, std::size_t most) {
    if (offset < begin_ || offset + most > begin_ + held_) {
      RETURN_IF_ERROR(Load(offset));
    }
    const auto skip = static_cast<std::size_t>(offset - begin_);
    return std::string_view(buffer_).substr(skip, std::min(most, held_ - skip));
  }

 private:
  absl::Status Load(std::uint64_t offset) {
    begin_ = offset;
    held_ = 0;
    while (held_ < buffer_.size()) {
      const ssize_t got = pread(fd_, buffer_.data() + held_, buffer_.size() - held_,
                                static_cast<off_t>(offset + held_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return Error(absl::StatusCode::kUnavailable, absl::StrCat("read: ", std::strerror(errno)));
      }
      if (got == 0) break;
      held_ += static_cast<std::size_t>(got);
    }
    return absl::OkStatus();
  }

  int fd_;
  std::string buffer_ = std::string(limits::kTailRead, '\0');
  std::uint64_t begin_ = 0;
  std::size_t held_ = 0;
};

constexpr std::size_t kLongestVarint = 10;

struct Varint {
  std::uint64_t value = 0;
  std::size_t size = 0;  // 0: it goes on beyond the bytes
};

absl::StatusOr<Varint> ReadVarint(std::string_view bytes, std::uint64_t offset) {
  Varint result;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    result.value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80) == 0) {
      result.size = i + 1;
      return result;
    }
  }
  if (bytes.size() < kLongestVarint) return Varint();
  return Error(absl::StatusCode::kFailedPrecondition,
               absl::StrCat("no length-delimited record at offset ", offset));
}

}  // namespace

absl::StatusOr<std::uint64_t> EndOfLastLine(int fd, std::uint64_t size) {
  Window window(fd);
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, limits::kTailRead);
    ASSIGN_OR_RETURN(const std::string_view bytes,
                     window.At(begin, static_cast<std::size_t>(end - begin)));
    if (const auto newline = bytes.rfind('\n'); newline != bytes.npos) return begin + newline + 1;
    end = begin;
  }
  return 0;
}

absl::StatusOr<std::uint64_t> EndOfLastRecord(int fd, std::uint64_t size) {
  Window window(fd);
  std::uint64_t end = 0;
  while (end < size) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(size - end, kLongestVarint));
    ASSIGN_OR_RETURN(const std::string_view bytes, window.At(end, most));
    ASSIGN_OR_RETURN(const Varint length, ReadVarint(bytes, end));
    if (length.size == 0 || length.value > size - end - length.size) break;  // torn
    end += length.size + length.value;
  }
  return end;
}

}  // namespace walpost::sink::file
