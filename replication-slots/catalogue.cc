#include "catalogue.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/edit_distance.h"
#include "base/status.h"
#include "queries.h"

namespace walpost::slots {
namespace {

template <typename T>
std::optional<T> Number(const PgRows& rows, int row, const char* column) {
  const auto text = rows.Get(row, column);
  T value{};
  if (!text) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    return absl::SimpleAtod(ToAbsl(*text), &value) ? std::optional(value) : std::nullopt;
  } else {
    return absl::SimpleAtoi(ToAbsl(*text), &value) ? std::optional(value) : std::nullopt;
  }
}

std::optional<Lsn> Position(const PgRows& rows, int row, const char* column) {
  const auto text = rows.Get(row, column);
  return text ? ParseLsn(*text) : std::nullopt;
}

bool Flag(const PgRows& rows, int row, const char* column) {
  return rows.Get(row, column) == "t" || rows.Get(row, column) == "true";
}

SlotRow ReadSlot(const PgRows& rows, int row) {
  SlotRow slot;
  capture::SlotSituation& situation = slot.situation;
  situation.name = rows.Text(row, "slot_name");
  situation.logical = rows.Text(row, "slot_type") == "logical";
  situation.active = Flag(rows, row, "active");
  situation.temporary = Flag(rows, row, "temporary");
  situation.synced = Flag(rows, row, "synced");
  situation.wal_status = rows.Text(row, "wal_status");
  situation.invalidation_reason = rows.Text(row, "invalidation_reason");
  situation.retained_bytes = Number<std::int64_t>(rows, row, "retained_bytes");
  situation.unconfirmed_bytes = Number<std::int64_t>(rows, row, "unconfirmed_bytes");
  situation.safe_wal_size = Number<std::int64_t>(rows, row, "safe_wal_size");
  if (const auto seconds = Number<double>(rows, row, "inactive_seconds")) {
    situation.inactive_for = absl::Seconds(*seconds);
  }
  slot.plugin = rows.Text(row, "plugin");
  slot.database = rows.Text(row, "database");
  slot.failover = Flag(rows, row, "failover");
  slot.two_phase = Flag(rows, row, "two_phase");
  slot.active_pid = Number<int>(rows, row, "active_pid");
  slot.application_name = rows.Text(row, "application_name");
  slot.client_addr = rows.Text(row, "client_addr");
  slot.active_since = rows.Text(row, "active_since");
  slot.inactive_since = rows.Text(row, "inactive_since");
  slot.restart_lsn = Position(rows, row, "restart_lsn");
  slot.confirmed_flush_lsn = Position(rows, row, "confirmed_flush_lsn");
  slot.catalog_xmin_age = Number<std::int64_t>(rows, row, "catalog_xmin_age");
  slot.spill_bytes = Number<std::int64_t>(rows, row, "spill_bytes");
  slot.stream_bytes = Number<std::int64_t>(rows, row, "stream_bytes");
  return slot;
}

absl::Status Unknown(const std::string& name, const std::vector<SlotRow>& slots) {
  std::string hint = "walpost slots list";
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const SlotRow& slot : slots) {
    const std::size_t distance = EditDistance(name, slot.name());
    if (distance >= least) continue;
    least = distance;
    if (IsNear(distance, name)) hint = absl::StrCat("did you mean '", slot.name(), "'?");
  }
  return WithExitCode(WithHint(Error(absl::StatusCode::kFailedPrecondition,
                                     absl::StrCat("slot '", name, "' does not exist")),
                               hint),
                      ExitCode::kConfiguration);
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ReadSettings(const Server& server) {
  ASSIGN_OR_RETURN(const PgRows rows, server.Rows(kSettingsSql));
  std::map<std::string, std::string> settings;
  for (int row = 0; row < rows.size(); ++row) {
    settings[rows.Text(row, "name")] = rows.Text(row, "setting");
  }
  return settings;
}

absl::StatusOr<std::optional<double>> MeasureWalRate(Server& server, absl::Duration sample) {
  if (sample <= absl::ZeroDuration()) return std::optional<double>();
  RETURN_IF_ERROR(server.Refresh());
  const MonotonicTime begin = MonotonicNow();
  const Lsn before = server.wal_end();
  Pause(sample);
  RETURN_IF_ERROR(server.Refresh());
  const double seconds = absl::ToDoubleSeconds(MonotonicNow() - begin);
  const std::uint64_t bytes = server.wal_end() > before ? server.wal_end().value - before.value : 0;
  return std::optional(static_cast<double>(bytes) / seconds);
}

absl::StatusOr<std::vector<SlotRow>> ReadSlots(const Server& server, std::optional<double> wal_rate,
                                               const capture::DangerLimits& limits) {
  ASSIGN_OR_RETURN(const PgRows rows, server.Rows(kSlotsSql));
  std::vector<SlotRow> slots;
  for (int row = 0; row < rows.size(); ++row) {
    slots.push_back(ReadSlot(rows, row));
    slots.back().situation.wal_rate = wal_rate;
    slots.back().verdict = capture::JudgeDanger(slots.back().situation, limits);
  }
  const auto danger = [](const SlotRow& slot) {
    return std::tuple(-static_cast<int>(slot.verdict.severity),
                      slot.verdict.time_to_invalidation.value_or(absl::InfiniteDuration()),
                      -slot.situation.retained_bytes.value_or(0), slot.name());
  };
  std::sort(slots.begin(), slots.end(),
            [&](const SlotRow& a, const SlotRow& b) { return danger(a) < danger(b); });
  return slots;
}

absl::StatusOr<SlotRow> FindSlot(const Server& server, const std::string& name,
                                 std::optional<double> wal_rate) {
  ASSIGN_OR_RETURN(const std::vector<SlotRow> slots, ReadSlots(server, wal_rate));
  for (const SlotRow& slot : slots) {
    if (slot.name() == name) return slot;
  }
  return Unknown(name, slots);
}

absl::StatusOr<SlotRow> FindLogicalSlot(const Server& server, const std::string& name) {
  ASSIGN_OR_RETURN(SlotRow slot, FindSlot(server, name));
  absl::Status fault;
  if (!slot.situation.logical) {
    fault = WithHint(Error(absl::StatusCode::kFailedPrecondition,
                           absl::StrCat("slot '", name, "' is a physical slot")),
                     "physical slots are a standby's: look at it before touching them");
  } else if (slot.database != server.database()) {
    fault = WithHint(Error(absl::StatusCode::kFailedPrecondition,
                           absl::StrCat("slot '", name, "' belongs to database '", slot.database,
                                        "', not '", server.database(), "'")),
                     absl::StrCat("connect there: -d ", slot.database));
  }
  if (!fault.ok()) return WithExitCode(fault, ExitCode::kConfiguration);
  return slot;
}

}  // namespace walpost::slots
