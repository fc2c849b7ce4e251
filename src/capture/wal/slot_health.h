// Facts about a slot and its publication, and what they mean: a pure function, shared by the
// relay's checks and the slot commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "capture/source.h"
#include "capture/wal/transaction_assembler.h"

namespace walpost::capture {

struct SlotFacts {
  std::string name;
  bool exists = false;
  std::string plugin;
  std::string type;      // logical | physical
  std::string database;  // empty for a physical slot
  bool active = false;
  std::int32_t active_pid = 0;
  std::string holder;  // application_name of active_pid, where visible
  bool two_phase = false;
  bool synced = false;              // from a primary, servers 17 and newer: not to be read yet
  std::string wal_status;           // reserved | extended | unreserved | lost
  std::string invalidation_reason;  // servers 17 and newer
  std::optional<Lsn> restart_lsn;
  std::optional<Lsn> confirmed_flush_lsn;
  std::optional<std::int64_t> safe_wal_size;  // bytes; none: unlimited or lost
};

struct PublicationFacts {
  std::string name;
  bool exists = false;
  bool publishes_insert = false;
  bool publishes_more = false;             // updates or deletes too
  std::vector<TableName> unknown_tables;   // asked for, and not in the database
  std::vector<TableName> unlogged_tables;  // their rows are in no WAL
  std::vector<TableName> missing_tables;   // asked for, and not in it
  // In it under another name: a partitioned table without publish_via_partition_root, whose rows
  // come as its partitions', or a partition of one with it.
  std::vector<TableName> renamed_tables;
  std::vector<TableName> filtered_tables;  // in it with a row filter or a column list
};

struct ServerFacts {
  int version = 0;  // 150020 for 15.20
  std::string database;
  std::string wal_level;
  std::string encoding;
  Lsn wal_end;  // current position
  bool in_recovery = false;
};

struct CatalogFacts {
  ServerFacts server;
  SlotFacts slot;
  PublicationFacts publication;
};

// At the start a missing or unfit thing is a configuration error (78); while running it vanished or
// changed, and going on could confirm past rows that never came (65).
enum class Phase { kStart, kRunning };

// OK, or the first thing that forbids streaming from this slot with this publication, with HINT and
// exit code attached. All are kFailedPrecondition, but for a standby that can't be read, which may be
// promoted (kUnavailable). Being held by another process is not among them.
absl::Status Judge(const CatalogFacts& facts, Phase phase);

// A reconnect, against what this process knew when its last stream ended.
struct Continuity {
  std::string slot;
  LastSeen last;
  Identity identity;
  Lsn xlogpos;  // the server's own
  std::optional<Lsn> confirmed_flush_lsn;
  bool held_by_another = false;  // meanwhile: its confirmations are none of ours
};

// OK, or kFailedPrecondition with the exit code for data: another cluster or database, a copy that
// was restored from an earlier time, or a slot whose confirmed_flush_lsn is beyond what this
// process confirmed, so that whatever lies between was never delivered.
absl::Status JudgeContinuity(const Continuity& facts);

}  // namespace walpost::capture
