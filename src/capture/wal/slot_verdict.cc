#include "capture/wal/slot_verdict.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace walpost::capture {
namespace {

std::string Size(std::int64_t bytes) {
  return bytes < std::int64_t{1} << 30
             ? absl::StrCat(bytes >> 20, " MiB")
             : absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string Rounded(absl::Duration time) {
  return absl::FormatDuration(time < absl::Minutes(10) ? absl::Trunc(time, absl::Seconds(1))
                                                       : absl::Trunc(time, absl::Minutes(1)));
}

// Keeps the worse of two findings; of equals the first.
class Worst {
 public:
  void Find(Severity severity, std::string reason, std::string hint) {
    if (severity <= verdict_.severity) return;
    verdict_.severity = severity;
    verdict_.reason = std::move(reason);
    verdict_.hint = std::move(hint);
  }
  SlotVerdict& verdict() { return verdict_; }

 private:
  SlotVerdict verdict_;
};

template <typename T>
Severity Above(T value, T warn, T crit) {
  if (value >= crit) return Severity::kCritical;
  return value >= warn ? Severity::kWarning : Severity::kOk;
}

}  // namespace

SlotVerdict JudgeDanger(const SlotSituation& slot, const DangerLimits& limits) {
  Worst worst;
  const std::string look = absl::StrCat("walpost slots show ", slot.name);
  if (slot.lost()) {
    worst.Find(
        Severity::kCritical,
        absl::StrCat("invalidated (",
                     slot.invalidation_reason.empty() ? "WAL removed" : slot.invalidation_reason,
                     "): its events are lost to it"),
        absl::StrCat("walpost slots drop ", slot.name));
    return worst.verdict();
  }
  if (slot.wal_status == "unreserved") {
    worst.Find(Severity::kCritical, "will be invalidated by the next checkpoint",
               "raise max_slot_wal_keep_size at once (ALTER SYSTEM, then pg_reload_conf()), or let "
               "its consumer catch up");
  }
  if (slot.safe_wal_size && slot.wal_rate && *slot.wal_rate > 0) {
    const double left = std::max(0.0, static_cast<double>(*slot.safe_wal_size));
    const absl::Duration time = absl::Seconds(left / *slot.wal_rate);
    worst.verdict().time_to_invalidation = time;
    worst.Find(Above(-time, -limits.warn_left, -limits.crit_left),
               absl::StrCat("invalidated in about ", Rounded(time), " at the present WAL rate"),
               look);
  }
  if (slot.retained_bytes) {
    worst.Find(Above(*slot.retained_bytes, limits.warn_bytes, limits.crit_bytes),
               absl::StrCat("holds back ", Size(*slot.retained_bytes), " of WAL"), look);
  }
  const bool waits_for_nobody = slot.active || slot.temporary || slot.synced;
  if (!waits_for_nobody && slot.inactive_for) {
    worst.Find(Above(*slot.inactive_for, limits.warn_age, limits.crit_age),
               absl::StrCat("nobody has read it for ", Rounded(*slot.inactive_for)), look);
  } else if (!waits_for_nobody && slot.retained_bytes.value_or(0) >= limits.warn_bytes / 10) {
    worst.Find(Severity::kWarning, "nobody reads it", look);
  }
  if (slot.wal_status == "extended") {
    worst.Find(Severity::kWarning, "holds back more WAL than max_wal_size", look);
  }
  return worst.verdict();
}

}  // namespace walpost::capture
