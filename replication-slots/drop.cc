// walpost slots drop: shows what would be lost, asks, and drops.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "commands.h"
#include "events.h"
#include "guard.h"
#include "output.h"

namespace walpost::slots {

absl::StatusOr<int> RunDrop(const DropArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  ASSIGN_OR_RETURN(const SlotRow slot, FindSlot(server, args.name));
  if (slot.situation.synced) {
    RETURN_IF_ERROR(
        server.RequirePrimary(absl::StrCat("dropping the synced copy '", args.name, "'")));
  }
  RETURN_IF_ERROR(RequireOurs(slot, args.consent));
  const Undelivered undelivered = CountUndelivered(server, slot, args.publication, true);
  Deed deed{.command = "drop"};
  if (slot.situation.active) {
    deed.sql.push_back(
        absl::StrCat("SELECT pg_terminate_backend(", slot.active_pid.value_or(0), ")"));
    deed.consequences.push_back(absl::StrCat("held by pid ", slot.active_pid.value_or(0), " ",
                                             slot.application_name, ", which is cut off"));
  }
  deed.sql.push_back(
      absl::StrCat("SELECT pg_drop_replication_slot(", QuoteLiteral(args.name), ")"));
  deed.consequences.push_back(absl::StrCat("slot '", args.name, "' at ",
                                           Text(slot.confirmed_flush_lsn), ", retains ",
                                           Bytes(slot.situation.retained_bytes), " of WAL"));
  if (slot.situation.logical) deed.consequences.push_back(Describe(undelivered));
  RETURN_IF_ERROR(RequireNoLoss(slot, undelivered, args.consent));
  ASSIGN_OR_RETURN(const bool go_on, Confirm(slot, deed, args.consent));
  if (!go_on) return 0;
  if (args.consent.terminate) RETURN_IF_ERROR(Terminate(server, slot));
  // While somebody thought about it, more may have been committed.
  ASSIGN_OR_RETURN(const SlotRow now, FindSlot(server, args.name));
  RETURN_IF_ERROR(
      RequireNoLoss(now, CountUndelivered(server, now, args.publication, true), args.consent));
  RETURN_IF_ERROR(
      server.Rows("SELECT pg_drop_replication_slot(@name)", {{"name", args.name}}).status());
  Audit(server, absl::StrCat("dropped slot ", args.name, ": confirmed_flush_lsn ",
                             Text(now.confirmed_flush_lsn), " -> gone"));
  return 0;
}

}  // namespace walpost::slots
