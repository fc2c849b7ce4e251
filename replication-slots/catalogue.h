// The slots of a server as facts, and how fast its WAL grows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/lsn.h"
#include "capture/wal/slot_verdict.h"
#include "server.h"

namespace walpost::slots {

// One row of pg_replication_slots with who holds it. Absent: not known to this version, or not to
// be seen by this role.
struct SlotRow {
  capture::SlotSituation situation;
  std::string plugin;
  std::string database;
  bool failover = false;
  bool two_phase = false;
  std::optional<int> active_pid;
  std::string application_name;
  std::string client_addr;   // "" for a Unix socket
  std::string active_since;  // RFC 3339 UTC; of the holder's session
  std::string inactive_since;
  std::optional<Lsn> restart_lsn;
  std::optional<Lsn> confirmed_flush_lsn;
  std::optional<std::int64_t> catalog_xmin_age;  // transactions
  std::optional<std::int64_t> spill_bytes;
  std::optional<std::int64_t> stream_bytes;
  capture::SlotVerdict verdict;

  const std::string& name() const { return situation.name; }
};

// The settings of queries/settings.sql by name; what this version lacks or this role may not see is
// absent.
absl::StatusOr<std::map<std::string, std::string>> ReadSettings(const Server& server);

// Bytes per second over `sample`; none for a sample of zero. Blocks that long.
absl::StatusOr<std::optional<double>> MeasureWalRate(Server& server, absl::Duration sample);

// All slots, the most endangered first.
absl::StatusOr<std::vector<SlotRow>> ReadSlots(const Server& server, std::optional<double> wal_rate,
                                               const capture::DangerLimits& limits = {});

// One of them. Errors: kFailedPrecondition with the nearest name.
absl::StatusOr<SlotRow> FindSlot(const Server& server, const std::string& name,
                                 std::optional<double> wal_rate = std::nullopt);

// Likewise, a logical slot of the database connected to. Errors: also kFailedPrecondition that says
// what it is instead.
absl::StatusOr<SlotRow> FindLogicalSlot(const Server& server, const std::string& name);

}  // namespace walpost::slots
