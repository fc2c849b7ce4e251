// What comes out of a source as an event: a row of an outbox table, or a logical message.
#pragma once

#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "capture/batch.h"
#include "outbox/event.h"
#include "outbox/mapper.h"
#include "outbox/message_reader.h"

namespace walpost::outbox {

// Thread: loop only.
class EventReader {
 public:
  explicit EventReader(MappingOptions options) : tables_(std::move(options)) {}

  // Errors and lifetime: as Mapper::Map() and MessageReader::Read().
  absl::StatusOr<Event> Read(const capture::Row& row) {
    message_prefix_ = row.is_message() ? row.message_prefix() : std::string_view();
    if (row.is_message()) return messages_.Read(row.message_prefix(), row.message_content());
    return tables_.Map(row);
  }

  // Of what was read last, also if it failed; "" if it couldn't be read.
  std::string_view event_id() const {
    return from_message() ? messages_.event_id() : tables_.event_id();
  }
  // "schema.table", or "" for a message.
  std::string_view relation_name() const {
    return from_message() ? std::string_view() : tables_.relation_name();
  }
  std::string_view message_prefix() const { return message_prefix_; }  // "" for a row

 private:
  bool from_message() const { return !message_prefix_.empty(); }

  Mapper tables_;
  MessageReader messages_;
  std::string_view message_prefix_;
};

}  // namespace walpost::outbox
