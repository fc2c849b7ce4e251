// Turns logical messages (pg_logical_emit_message) of the outbox into events. Their content is one
// of two, told apart by the first byte:
//
//   a serialized walpost.v1.Envelope; its source is filled in anew
//   a JSON object with the event's fields as members, named as columns would be (README.md); a
//   payload that is an object or list is JSON, one that is a string is its text
//
// Without an aggregate type the message's prefix is it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capture/batch.h"
#include "outbox/event.h"
#include "outbox/mapper.h"

namespace walpost::v1 {
class Envelope;
}

namespace walpost::outbox {

// Thread: loop only.
class MessageReader {
 public:
  MessageReader();
  ~MessageReader();

  // The event views `content`, which must be kept, and this reader: valid until the next Read().
  // Errors: kInvalidArgument: names the prefix, the event id where known, and the fault.
  absl::StatusOr<Event> Read(std::string_view prefix, std::string_view content);

  // Of the message last read, also if it failed; "" if it couldn't be read.
  std::string_view event_id() const { return event_id_; }

 private:
  absl::StatusOr<Event> ReadEnvelope(std::string_view prefix, std::string_view content);
  absl::StatusOr<Event> ReadJson(std::string_view prefix, std::string_view content);
  // One member of the object as a column of a row; false: its escapes are broken.
  bool AddMember(std::string_view name, std::string_view value, capture::Relation& relation);
  // The column's index; the last of several members with one name counts.
  std::size_t ColumnFor(std::string name, capture::Relation& relation);
  absl::Status AddMissing(capture::Relation& relation);

  std::unique_ptr<v1::Envelope> envelope_;
  std::vector<MessageHeader> headers_;

  Mapper mapper_{MappingOptions()};
  std::shared_ptr<const capture::Relation> relation_;  // the last message's members, as columns
  std::vector<capture::Value> values_;
  std::string text_;  // what values_ views beside the content

  std::string_view event_id_;
};

}  // namespace walpost::outbox
