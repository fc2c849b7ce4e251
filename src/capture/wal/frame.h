// The outer layer of the replication protocol: what one CopyData message carries.
//
//   direction  message                layout (integers big-endian)
//   server     XLogData        'w'    Int64 dataStart, Int64 walEnd, Int64 sendTime, payload
//   server     Keepalive       'k'    Int64 walEnd, Int64 sendTime, Byte replyRequested
//   client     Status update   'r'    Int64 write, Int64 flush, Int64 apply, Int64 clientTime, Byte
//   replyRequested
//
// For a logical stream XLogData's dataStart and walEnd are the same number, not monotonic,
// sometimes 0/0: they serve no confirmation. Times are microseconds since 2000-01-01
// 00:00 UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/lsn.h"

namespace walpost::capture {

struct XLogData {
  Lsn data_start;
  std::string_view payload;  // one whole pgoutput message, viewing the frame
};

// walEnd: the server has decoded all WAL before it, and sent all there was to send from it.
struct Keepalive {
  Lsn wal_end;
  bool reply_requested = false;
};

using Frame = std::variant<XLogData, Keepalive>;

// Errors: kDataLoss (unknown kind, wrong length).
absl::StatusOr<Frame> ParseFrame(std::string_view bytes);

struct StatusUpdate {
  Lsn write;  // newest position received
  Lsn flush;  // everything below it is safe elsewhere: the only field that moves the slot
  bool reply_requested = false;
};

// 34 bytes, apply = flush.
std::string EncodeStatusUpdate(const StatusUpdate& update, absl::Time now);

// Microseconds since 2000-01-01 00:00 UTC, as everywhere in the protocol.
absl::Time FromPostgresMicros(std::int64_t micros);
std::int64_t ToPostgresMicros(absl::Time time);

}  // namespace walpost::capture
