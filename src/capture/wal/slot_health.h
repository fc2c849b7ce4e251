// Facts about a slot and its publication, and what they mean: a pure function, shared by the
// relay's checks and the slot commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
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
  std::vector<TableName> missing_tables;   // asked for, and not in it
  std::vector<TableName> filtered_tables;  // in it with a row filter or a column list
};

struct ServerFacts {
  int version = 0;  // 150020 for 15.20
  std::string database;
  std::string wal_level;
  Lsn wal_end;  // current position
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
// exit code attached. All are kFailedPrecondition. Being held by another process is not among them.
absl::Status Judge(const CatalogFacts& facts, Phase phase);

}  // namespace walpost::capture
