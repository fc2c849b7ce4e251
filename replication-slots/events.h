// The outbox events in a slot, looked at without consuming them: through a temporary copy of the
// slot, bounded in time. For slots of pgoutput.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capture/wal/peek.h"
#include "catalogue.h"
#include "server.h"

namespace walpost::slots {

struct SeenEvent {
  std::string id;    // "" where the row isn't an event
  std::string type;  // likewise
  Lsn commit_lsn;
  absl::Time committed_at;
  std::string json;   // the envelope as one line; "" where the row isn't an event
  std::string fault;  // why it isn't
};

// The publication to read a slot with: `asked`, else the one named like the slot, else the only one
// there is. Errors: kFailedPrecondition with what to say.
absl::StatusOr<std::string> PublicationFor(const Server& server, const std::string& slot,
                                           const std::string& asked);

// Calls `on_event` for each, in commit order, until it says false or the time is over. Errors: as
// capture::PeekSlot.
absl::StatusOr<capture::PeekSummary> LookAtEvents(
    const Server& server, const std::string& slot, const std::string& publication,
    absl::Duration timeout, absl::FunctionRef<bool(const SeenEvent&)> on_event);

// What a slot still has to deliver.
struct Undelivered {
  std::size_t events = 0;
  std::uint64_t others = 0;  // changes that are no outbox events: a subscription's, or messages
  bool complete = false;     // false: at least so many
  std::optional<absl::Time> oldest;
  std::string unknown;  // why they can't be counted; "" if they were
};

// Of a pgoutput slot of the database connected to; of others `unknown` says why not. Bounded by a
// few seconds. `certain`: a publication that is only guessed doesn't count.
Undelivered CountUndelivered(const Server& server, const SlotRow& slot,
                             const std::string& publication, bool certain);
// "12 undelivered events, the oldest 3m20s old".
std::string Describe(const Undelivered& undelivered);

}  // namespace walpost::slots
