#include "outbox/dead_letter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/string_view.h"
#include "outbox/message_headers.h"

namespace walpost::outbox {

Message DeadLetterBuilder::Build(const std::optional<Message>& meant, bool keep_content,
                                 std::string_view event_id, const Origin& origin,
                                 std::string_view error) {
  // Copied: what they view may belong to whoever reads or builds next.
  event_id_ = ShownId(event_id);
  error_ = error.substr(0, limits::kDeadLetterErrorBytes);
  meant_topic_ = meant ? meant->topic : std::string_view();
  source_ =
      absl::StrCat(ToAbsl(origin.database), "/", origin.message_prefix.empty() ? "" : "message ",
                   ToAbsl(origin.message_prefix), ToAbsl(origin.relation));
  position_ = FormatPosition(origin.commit_lsn, origin.index);

  committed_at_ = origin.committed_at;
  if (!meant || !keep_content) return WithoutContent();
  headers_.assign(meant->headers.begin(), meant->headers.end());
  return Finish(meant->key, meant->value);
}

Message DeadLetterBuilder::WithoutContent() {
  headers_.clear();
  if (!event_id_.empty()) headers_.push_back({NameOf(OwnHeader::kId), event_id_});
  headers_.push_back({NameOf(OwnHeader::kLsn), TextOf(position_)});
  return Finish(std::nullopt, "");
}

Message DeadLetterBuilder::Finish(std::optional<std::string_view> key,
                                  std::optional<std::string_view> value) {
  headers_.push_back({"walpost-error", error_});
  headers_.push_back({"walpost-source", source_});
  if (!meant_topic_.empty()) headers_.push_back({"walpost-topic", meant_topic_});

  Message message;
  message.topic = topic_;
  message.key = key;
  message.value = value;
  message.headers = headers_;
  // A time of the event's own may be what the broker refused.
  message.timestamp = std::max(committed_at_, absl::UnixEpoch());
  return message;
}

}  // namespace walpost::outbox
