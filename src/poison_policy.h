// What becomes of an event that can never be delivered: the relay stops, or the event goes to the
// dead-letter topic and everything else keeps its order. There is no skip.
//
//   poison is                                    found by
//   no event can be made of the row              outbox/ (mapping, routing, envelope)
//   larger than its topic takes                  the sink, before it takes the message
//   refused by the broker, alone in its batch    a receipt; the replay then knows it
//   named in delivery.dead_letter_events         an operator
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "outbox/dead_letter.h"
#include "outbox/message.h"
#include "outbox/origin.h"

namespace walpost {

struct PoisonOptions {
  bool dead_letter = false;  // false: stop
  std::string dead_letter_topic;
  std::vector<std::string> events;  // event ids or walpost-lsn values: dead letters either way
};

// Thread: loop only. One per process.
class PoisonPolicy {
 public:
  explicit PoisonPolicy(const PoisonOptions& options);

  // Why this event goes to the dead-letter topic whatever it holds: named by an operator, or
  // remembered. None: it doesn't.
  std::optional<std::string> Condemned(std::string_view event_id,
                                       const outbox::Origin& origin) const;

  // The message for the dead-letter topic, or `error` where the policy is to stop. `condemned`:
  // by Condemned(). Valid until the next call.
  absl::StatusOr<outbox::Message> Divert(const absl::Status& error, bool condemned,
                                         const std::optional<outbox::Message>& meant,
                                         bool keep_content, std::string_view event_id,
                                         const outbox::Origin& origin);

  // The dead letter made last, smaller. Valid until the next call.
  outbox::Message WithoutContent() { return builder_.WithoutContent(); }

  // The broker refused this event alone. True: the replay will divert it; false: the policy is to
  // stop. An event refused by the dead-letter topic itself (`topic`) stops the relay.
  bool Remember(Lsn commit_lsn, std::uint32_t index, std::string_view topic,
                const absl::Status& error);

  // `error` with how to get past the event, for the relay that stops at it.
  absl::Status Stop(const absl::Status& error, Lsn commit_lsn, std::uint32_t index) const;

  // Nothing at or below `released` comes again.
  void Forget(Position released);

  const std::string& topic() const { return builder_.topic(); }

 private:
  const bool dead_letter_;
  const std::set<std::string, std::less<>> named_;
  outbox::DeadLetterBuilder builder_;
  std::map<std::pair<Lsn, std::uint32_t>, std::string> refused_;  // with the broker's reason
};

}  // namespace walpost
