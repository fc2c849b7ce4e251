// A look at what a slot will deliver, without consuming anything and whether or not somebody
// streams from it: a temporary copy of the slot is read, which ends with its connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/pq.h"
#include "capture/batch.h"
#include "capture/wal/transaction_assembler.h"

namespace walpost::capture {

struct PeekOptions {
  std::string dsn;
  std::string slot;
  std::string publication;
  std::vector<TableName> tables;
  std::vector<std::string> message_prefixes;
  bool all_messages = false;         // logical messages of other prefixes count as other changes
  absl::Duration timeout;            // of the whole; what was seen until then was seen
  std::optional<PgAddress> address;  // of a session there is: the same server, whatever dsn names
};

struct PeekSummary {
  bool complete = false;            // everything up to the WAL's end as of the start was looked at
  std::uint64_t other_changes = 0;  // rows of other tables, updates, deletes, truncates, messages
};

// Called for each batch, in commit order; false: seen enough.
using OnBatch = absl::FunctionRef<bool(const Batch& batch, const Identity& identity)>;

// Blocks, for verbs: until `on_batch` has enough, everything up to the WAL's end as of the start was
// looked at, or the time is over. Streams, so memory stays small even inside a huge transaction.
//
// Errors: as Connection; kDataLoss.
absl::StatusOr<PeekSummary> PeekSlot(const PeekOptions& options, OnBatch on_batch);

}  // namespace walpost::capture
