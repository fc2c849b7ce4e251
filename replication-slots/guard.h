// What stands between an operator and lost events: shared by the commands that can lose them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "catalogue.h"
#include "commands.h"
#include "events.h"
#include "server.h"

namespace walpost::slots {

// What a command is about to do to a slot.
struct Deed {
  std::string command;                    // "drop", "advance"
  std::vector<std::string> sql;           // as it will run
  std::vector<std::string> consequences;  // one line each: what is lost, who is cut off
  bool talk = false;                      // the SQL of a dry run goes to standard error
};

// OK if the flags allow to touch a slot that is held, or another application's; a dry run always
// may. Errors: kFailedPrecondition naming the flag that is missing; nothing has changed.
absl::Status RequireOurs(const SlotRow& slot, const Consent& consent);
// Likewise, to lose these events.
absl::Status RequireNoLoss(const SlotRow& slot, const Undelivered& undelivered,
                           const Consent& consent);

// Shows the deed. True: do it. False: --dry-run, which printed the SQL. Asks for the slot's name on
// a terminal; elsewhere --yes is needed. Errors: kCancelled, kFailedPrecondition.
absl::StatusOr<bool> Confirm(const SlotRow& slot, const Deed& deed, const Consent& consent);

// Ends the session that holds the slot, and waits until it is free.
absl::Status Terminate(const Server& server, const SlotRow& slot);

}  // namespace walpost::slots
