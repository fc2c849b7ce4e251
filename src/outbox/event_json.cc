#include "outbox/event_json.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace walpost::outbox {

absl::StatusOr<std::string> EventJson::Line(const capture::Batch& batch, std::size_t row,
                                            const capture::Identity& identity) {
  const std::uint32_t index = batch.first_index + static_cast<std::uint32_t>(row);
  const PositionText position = FormatPosition(batch.transaction.commit_lsn, index);
  const std::string where = absl::StrCat("event ", ToAbsl(TextOf(position)));
  event_type_.clear();
  const absl::StatusOr<Event> event = reader_.Read(batch.row(row));
  if (!event.ok()) return WithContext(event.status(), where);
  event_type_ = event->event_type;
  const absl::StatusOr<std::string_view> envelope =
      encoder_.Encode(*event, {.system_identifier = identity.system_identifier,
                               .timeline = identity.timeline,
                               .database = identity.database,
                               .relation = reader_.relation_name(),
                               .message_prefix = reader_.message_prefix(),
                               .xid = batch.transaction.xid,
                               .commit_lsn = batch.transaction.commit_lsn,
                               .index = index,
                               .committed_at = batch.transaction.commit_time});
  if (!envelope.ok()) return WithContext(envelope.status(), where);
  return EnvelopeJson(*envelope);
}

}  // namespace walpost::outbox
