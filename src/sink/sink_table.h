// The sinks there are. A new sink is a folder, a subdir() line, a row in sink_table.cc and a line
// in tests/conformance.
#pragma once

#include <any>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/settings.h"
#include "sink/sink.h"

namespace walpost::sink {

struct SinkType {
  std::string_view name;      // the value of `sink.type`
  std::vector<KeySpec> keys;  // its own section of the configuration
  // Checks the settings without any side effect. Errors: kInvalidArgument names the key and the
  // fix.
  absl::Status (*check)(const Settings& settings);
  // `memory` is the sink's own: what one leaves for the next of this process. Empty at first; it
  // must outlive the sink.
  //
  // Errors: kInvalidArgument (settings), kFailedPrecondition, kUnavailable.
  absl::StatusOr<std::unique_ptr<Sink>> (*make)(const Settings& settings, std::any& memory);
};

std::span<const SinkType> SinkTypes();
const SinkType* FindSinkType(std::string_view name);  // null if there is none

}  // namespace walpost::sink
