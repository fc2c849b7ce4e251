// walpost slots check: a monitoring plugin; one line, perfdata behind the bar.
#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "commands.h"
#include "output.h"

namespace walpost::slots {
namespace {

constexpr int kUnknown = 3;

std::string Perfdata(const SlotRow& slot, const capture::DangerLimits& limits) {
  const auto& retained = slot.situation.retained_bytes;
  return absl::StrCat(" '", slot.name(), "'=", retained ? absl::StrCat(*retained, "B") : "U", ";",
                      limits.warn_bytes, ";", limits.crit_bytes, ";0");
}

absl::StatusOr<std::vector<SlotRow>> SlotsToCheck(const CheckArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  ASSIGN_OR_RETURN(std::vector<SlotRow> slots, ReadSlots(server, std::nullopt, args.limits));
  if (args.name.empty()) return slots;
  std::erase_if(slots, [&](const SlotRow& slot) { return slot.name() != args.name; });
  if (!slots.empty()) return slots;
  ASSIGN_OR_RETURN(SlotRow slot, FindSlot(server, args.name));  // says what is there instead
  return std::vector<SlotRow>{std::move(slot)};
}

}  // namespace

absl::StatusOr<int> RunCheck(const CheckArgs& args) {
  const absl::StatusOr<std::vector<SlotRow>> slots = SlotsToCheck(args);
  if (!slots.ok()) {
    std::cout << "SLOTS UNKNOWN - " << MessageOf(slots.status()) << "\n";
    return kUnknown;
  }
  auto worst = capture::Severity::kOk;
  std::string reasons;
  std::string perfdata;
  for (const SlotRow& slot : *slots) {
    worst = std::max(worst, slot.verdict.severity);
    absl::StrAppend(&perfdata, Perfdata(slot, args.limits));
    if (slot.verdict.reason.empty()) continue;
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", slot.name(), " ", slot.verdict.reason);
  }
  if (reasons.empty()) reasons = absl::StrCat(slots->size(), " slots");
  static constexpr const char* kWords[] = {"OK", "WARNING", "CRITICAL"};
  std::cout << "SLOTS " << kWords[static_cast<int>(worst)] << " - " << reasons << " |" << perfdata
            << "\n";
  return static_cast<int>(worst);
}

}  // namespace walpost::slots
