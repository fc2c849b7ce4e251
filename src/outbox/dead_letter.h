// Messages for the dead-letter topic: an event that can never be delivered where it belongs, with
// the reason.
//
//   key, value       as meant for the topic; empty where the event couldn't become a message, or
//                    only a larger topic could take it
//   headers          as meant, then
//   walpost-error    why it is here
//   walpost-source   "database/schema.table", or "database/message prefix"
//   walpost-topic    where it was meant to go; absent if that isn't known
//   walpost-lsn      commit LSN and index, as on every message
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/envelope.h"
#include "outbox/message.h"

namespace walpost::outbox {

// Thread: loop only.
class DeadLetterBuilder {
 public:
  explicit DeadLetterBuilder(std::string topic) : topic_(std::move(topic)) {}

  const std::string& topic() const { return topic_; }

  // `meant`: the message as it should have gone, or none; `keep_content`: its key and value fit.
  // `event_id`: "" if unknown. Valid until the next call and as long as `meant` is.
  Message Build(const std::optional<Message>& meant, bool keep_content, std::string_view event_id,
                const Origin& origin, std::string_view error);

  // The letter built last, for a topic too narrow for it: without key, value and the headers that
  // were meant. Valid until the next call.
  Message WithoutContent();

 private:
  Message Finish(std::optional<std::string_view> key, std::optional<std::string_view> value);

  const std::string topic_;
  std::vector<MessageHeader> headers_;
  std::string event_id_;
  std::string error_;
  std::string source_;
  std::string meant_topic_;
  PositionText position_{};
  absl::Time committed_at_;
};

}  // namespace walpost::outbox
