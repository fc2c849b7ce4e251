// How much of a topic's max.message.bytes a message takes.
#pragma once

#include <cstddef>

#include "outbox/message.h"

namespace walpost::sink::kafka {

// Of a batch (Kafka's format 2) that holds this message alone, not compressed.
//
//   batch   61 bytes, record
//   record  varint length, Byte attributes, varint time and offset (both 0 here),
//           varint length and bytes of the key, of the value, varint count of headers,
//           headers × (varint length and bytes of the name, of the value)
//           a varint is zigzag-encoded; a null key or value has the length -1
std::size_t BatchSizeOf(const outbox::Message& message);

}  // namespace walpost::sink::kafka
