// A message on its way to a sink: topic, key, value, headers, time. All of it views memory of
// whoever built it, valid until that one builds the next.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "absl/time/time.h"

namespace walpost::outbox {

struct MessageHeader {
  std::string_view name;
  std::string_view value;
};

struct Message {
  std::string_view topic;
  std::optional<std::string_view> key;    // none: no order is kept for it
  std::optional<std::string_view> value;  // none: a tombstone
  std::span<const MessageHeader> headers;
  absl::Time timestamp;

  // What the message counts against the window: its bytes, without the broker client's overhead.
  std::size_t size() const {
    std::size_t total = topic.size() + (key ? key->size() : 0) + (value ? value->size() : 0);
    for (const MessageHeader& header : headers) total += header.name.size() + header.value.size();
    return total;
  }
};

}  // namespace walpost::outbox
