// One message as one line of JSON, for people and pipes:
//
//   {"topic":"outbox.event.order","key":"17","timestamp":"2026-01-31T10:00:00.123456+00:00",
//    "headers":{"id":"…"},"value":{…}}
//
// | part                     | shown as                                           |
// |--------------------------|----------------------------------------------------|
// | key                      | string; null without one                           |
// | header                   | string; an array where a name comes more than once |
// | value, protobuf envelope | its canonical JSON                                 |
// | value, JSON              | as it is if valid and on one line, else a string   |
// | value, text/*            | string                                             |
// | tombstone                | null                                               |
// | other bytes              | {"base64":"…"}; so is text that isn't UTF-8        |
//
// What a value is, its content-type header says.
#pragma once

#include <string>

#include "outbox/message.h"

namespace walpost::sink::file {

// Appends the line with its newline.
void AppendJsonLine(const outbox::Message& message, std::string& out);

}  // namespace walpost::sink::file
