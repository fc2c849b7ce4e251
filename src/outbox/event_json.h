// The events of a batch as JSON, one envelope each: for people who look before anything is sent.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "capture/batch.h"
#include "capture/source.h"
#include "outbox/envelope.h"
#include "outbox/event_reader.h"

namespace walpost::outbox {

// Thread: the one that uses it.
class EventJson {
 public:
  explicit EventJson(MappingOptions options) : reader_(std::move(options)) {}

  // The envelope of row `row` as one line. Errors: as EventReader::Read() and the encoder, with the
  // event's position in front.
  absl::StatusOr<std::string> Line(const capture::Batch& batch, std::size_t row,
                                   const capture::Identity& identity);

  // Of the row that was read last; "" where it couldn't be read.
  std::string_view event_id() const { return reader_.event_id(); }
  std::string_view event_type() const { return event_type_; }

 private:
  EventReader reader_;
  EnvelopeEncoder encoder_;
  std::string event_type_;
};

}  // namespace walpost::outbox
