#include "poison_policy.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"

namespace walpost {

PoisonPolicy::PoisonPolicy(const PoisonOptions& options)
    : dead_letter_(options.dead_letter),
      named_(options.events.begin(), options.events.end()),
      builder_(options.dead_letter_topic) {}

std::optional<std::string> PoisonPolicy::Condemned(std::string_view event_id,
                                                   const outbox::Origin& origin) const {
  if (!refused_.empty()) {
    const auto found = refused_.find({origin.commit_lsn, origin.index});
    if (found != refused_.end()) return found->second;
  }
  if (named_.empty()) return std::nullopt;
  const outbox::PositionText position = outbox::FormatPosition(origin.commit_lsn, origin.index);
  if (!named_.contains(event_id) && !named_.contains(outbox::TextOf(position))) {
    return std::nullopt;
  }
  return "named in delivery.dead_letter_events";
}

absl::StatusOr<outbox::Message> PoisonPolicy::Divert(const absl::Status& error, bool condemned,
                                                     const std::optional<outbox::Message>& meant,
                                                     bool keep_content, std::string_view event_id,
                                                     const outbox::Origin& origin) {
  if (!dead_letter_ && !condemned) return Stop(error, origin.commit_lsn, origin.index);
  const outbox::PositionText position = outbox::FormatPosition(origin.commit_lsn, origin.index);
  log::Warning("an event goes to the dead-letter topic", {{"id", event_id},
                                                          {"position", outbox::TextOf(position)},
                                                          {"topic", builder_.topic()},
                                                          {"err", MessageOf(error)}});
  return builder_.Build(meant, keep_content, event_id, origin, MessageOf(error));
}

absl::Status PoisonPolicy::Stop(const absl::Status& error, Lsn commit_lsn,
                                std::uint32_t index) const {
  const std::string hint = HintOf(error);
  const outbox::PositionText position = outbox::FormatPosition(commit_lsn, index);
  return WithExitCode(
      WithHint(error, absl::StrCat(hint, hint.empty() ? "" : "; or ", "to send it to '",
                                   builder_.topic(), "': delivery.dead_letter_events = [\"",
                                   ToAbsl(outbox::TextOf(position)), "\"]")),
      ExitCode::kData);
}

bool PoisonPolicy::Remember(Lsn commit_lsn, std::uint32_t index, std::string_view topic,
                            const absl::Status& error) {
  if (!dead_letter_ || topic == builder_.topic()) return false;
  refused_[{commit_lsn, index}] = MessageOf(error);
  return true;
}

void PoisonPolicy::Forget(Position released) {
  while (!refused_.empty() && refused_.begin()->first.first.value < released.value) {
    refused_.erase(refused_.begin());
  }
}

}  // namespace walpost
