// Bytes to pgoutput messages. Every message must consume exactly its length; nothing is skipped: an
// unknown message could be a row.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capture/wal/pgoutput/messages.h"

namespace walpost::capture::pgoutput {

// Thread: loop only. Reuses its memory: what Decode() returned is valid until the next call, and
// not longer than `bytes`.
class Decoder {
 public:
  // Errors: kDataLoss. Streamed and two-phase messages, which were not asked for, are errors too.
  absl::StatusOr<Message> Decode(std::string_view bytes);

 private:
  std::vector<Value> values_;
};

}  // namespace walpost::capture::pgoutput
