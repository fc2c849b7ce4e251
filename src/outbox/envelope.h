// Events as bytes: walpost.v1.Envelope (proto/walpost/v1/envelope.proto), and its canonical JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/event.h"
#include "outbox/origin.h"

namespace walpost::outbox {

// Encodes into a buffer of its own, which it keeps for the next event.
//
// Written out by hand: the generated class would hold a second copy of every payload, and the
// largest row decides how much memory the relay needs. A test holds the bytes against the generated
// class's.
//
// Thread: loop only. In steady state nothing is allocated.
class EnvelopeEncoder {
 public:
  // The bytes are valid until the next call. Fields in the order of their numbers, as protobuf
  // itself writes them: equal events give equal bytes.
  //
  // Errors: kInvalidArgument: a time outside of the years 1 to 9999, or beyond the 2 GiB that
  // protobuf can read.
  absl::StatusOr<std::string_view> Encode(const Event& event, const Origin& origin);

 private:
  std::string buffer_;  // its size is the room there is
};

// An encoded envelope as protobuf's canonical JSON, in one line without its end.
// Errors: kInvalidArgument: these bytes aren't an Envelope.
absl::StatusOr<std::string> EnvelopeJson(std::string_view envelope);

// Its event_id; none: these bytes aren't an Envelope.
std::optional<std::string> EnvelopeId(std::string_view envelope);

}  // namespace walpost::outbox
