#include "guard.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"

namespace walpost::slots {
namespace {

constexpr absl::Duration kReleaseTime = absl::Seconds(10);

absl::Status Missing(std::string_view what, std::string_view flag) {
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kFailedPrecondition, what),
               absl::StrCat("nothing was changed; to go on all the same: ", ToAbsl(flag))),
      ExitCode::kUsage);
}

}  // namespace

absl::Status RequireOurs(const SlotRow& slot, const Consent& consent) {
  if (consent.dry_run) return absl::OkStatus();
  if (slot.situation.active && !consent.terminate) {
    return Missing(
        absl::StrCat("slot '", slot.name(), "' is in use by pid ", slot.active_pid.value_or(0),
                     slot.application_name.empty() ? "" : ", ", slot.application_name),
        "--terminate ends that session");
  }
  if (slot.plugin != "pgoutput" && !consent.any_plugin) {
    return Missing(absl::StrCat("slot '", slot.name(), "' is ",
                                slot.situation.logical ? absl::StrCat("of the plugin ", slot.plugin)
                                                       : std::string("physical, a standby's"),
                                ": another application's"),
                   "--any-plugin");
  }
  return absl::OkStatus();
}

absl::Status RequireNoLoss(const SlotRow& slot, const Undelivered& undelivered,
                           const Consent& consent) {
  const bool lost = slot.situation.lost();
  if (consent.dry_run || consent.lose_events || lost || slot.plugin != "pgoutput") {
    return absl::OkStatus();
  }
  if (!undelivered.unknown.empty()) return Missing(Describe(undelivered), "--lose-events");
  if (undelivered.events + undelivered.others == 0 && undelivered.complete) return absl::OkStatus();
  return Missing(absl::StrCat("slot '", slot.name(), "' has ", Describe(undelivered)),
                 "--lose-events");
}

absl::StatusOr<bool> Confirm(const SlotRow& slot, const Deed& deed, const Consent& consent) {
  for (const std::string& consequence : deed.consequences) std::cerr << consequence << "\n";
  if (consent.dry_run) {
    // Standard output is for JSON where that was asked for.
    for (const std::string& sql : deed.sql) (deed.talk ? std::cerr : std::cout) << sql << ";\n";
    return false;
  }
  if (consent.yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    return Missing(absl::StrCat(deed.command, " asks for the slot's name, and this is no terminal"),
                   "--yes");
  }
  std::cerr << "To " << deed.command << " it, type the slot's name: " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == slot.name()) return true;
  return WithExitCode(
      Error(absl::StatusCode::kCancelled,
            absl::StrCat("'", answer, "' is not '", slot.name(), "': nothing was changed")),
      ExitCode::kUsage);
}

absl::Status Terminate(const Server& server, const SlotRow& slot) {
  if (!slot.situation.active || !slot.active_pid) return absl::OkStatus();
  // Only while it still holds the slot: its number may be another session's by now.
  ASSIGN_OR_RETURN(
      const PgRows rows,
      server.Rows("SELECT pg_terminate_backend(active_pid) AS done FROM pg_replication_slots "
                  "WHERE slot_name = @name AND active_pid = @pid::int",
                  {{"name", slot.name()}, {"pid", absl::StrCat(*slot.active_pid)}}));
  if (rows.size() > 0 && rows.IsTrue(0, "done")) {
    Audit(server,
          absl::StrCat("terminated pid ", *slot.active_pid, ", which held slot ", slot.name()));
  }
  const MonotonicTime deadline = MonotonicNow() + kReleaseTime;
  while (MonotonicNow() < deadline) {
    ASSIGN_OR_RETURN(const SlotRow now, FindSlot(server, slot.name()));
    if (!now.situation.active) return absl::OkStatus();
    if (now.active_pid != slot.active_pid) break;
    Pause(absl::Milliseconds(50));
  }
  return WithHint(Error(absl::StatusCode::kUnavailable,
                        absl::StrCat("slot '", slot.name(), "' was taken again, or not released")),
                  "stop its consumer first: it reconnects by itself");
}

}  // namespace walpost::slots
