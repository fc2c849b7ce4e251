// How much danger a slot means for the database and for itself: a pure function from facts, for
// operators and monitoring. What forbids streaming is slot_health's affair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace walpost::capture {

enum class Severity { kOk, kWarning, kCritical };

// What the verdict rests on. Absent: the server's version doesn't say, or the role may not see it.
struct SlotSituation {
  std::string name;
  bool logical = true;
  bool active = false;
  bool temporary = false;
  bool synced = false;     // a copy on a standby: nobody reads it there, and it follows
  std::string wal_status;  // reserved | extended | unreserved | lost; "" without a position
  std::string invalidation_reason;                // servers 17 and newer
  std::optional<std::int64_t> retained_bytes;     // end of WAL - restart_lsn
  std::optional<std::int64_t> unconfirmed_bytes;  // end of WAL - confirmed_flush_lsn
  std::optional<std::int64_t> safe_wal_size;      // none: no limit is set, or it is lost
  std::optional<absl::Duration> inactive_for;     // servers 17 and newer
  std::optional<double> wal_rate;                 // bytes per second, measured

  // Invalidated: what it had to deliver can't be read any more.
  bool lost() const { return wal_status == "lost" || !invalidation_reason.empty(); }
};

struct DangerLimits {
  std::int64_t warn_bytes = std::int64_t{1} << 30;  // retained
  std::int64_t crit_bytes = std::int64_t{10} << 30;
  absl::Duration warn_age = absl::Hours(1);  // inactive
  absl::Duration crit_age = absl::InfiniteDuration();
  absl::Duration warn_left = absl::Hours(4);  // time to invalidation
  absl::Duration crit_left = absl::Hours(1);
};

struct SlotVerdict {
  Severity severity = Severity::kOk;
  std::string reason;  // "" when OK
  std::string hint;    // what to type or to look at; "" when OK
  // At the measured rate, until the server may invalidate the slot. None: never, or not known.
  std::optional<absl::Duration> time_to_invalidation;
};

SlotVerdict JudgeDanger(const SlotSituation& slot, const DangerLimits& limits);

}  // namespace walpost::capture
