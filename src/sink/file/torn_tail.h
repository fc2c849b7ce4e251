// Where a file's last whole record ends: what follows was being written when an earlier process
// died, and was never acknowledged.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace walpost::sink::file {

// The offset behind the last newline among the first `size` bytes of `fd`; 0 if there is none.
// Errors: kUnavailable (reading).
absl::StatusOr<std::uint64_t> EndOfLastLine(int fd, std::uint64_t size);

// The offset behind the last whole record (varint length, then so many bytes). Reads every length,
// so its time grows with the number of records. Errors: kUnavailable (reading), kFailedPrecondition
// (these are no length-delimited records).
absl::StatusOr<std::uint64_t> EndOfLastRecord(int fd, std::uint64_t size);

}  // namespace walpost::sink::file
