// Reads topics as a consumer without a group, for people who want to see what arrives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/settings.h"
#include "outbox/message.h"

namespace walpost::sink {

struct TailOptions {
  std::vector<std::string> topics;  // none: all whose names begin with `prefix`
  std::string prefix;
  bool from_beginning = false;  // else what arrives from now on
  bool follow = true;           // else up to the ends of the partitions as they are at the start
};

// Called for each record; false: seen enough. Also called with null while nothing comes, so that
// the caller can look around.
using OnRecord = absl::FunctionRef<bool(const outbox::Message* record)>;

// Blocks. Brokers and security settings are those of [kafka]. Order is kept within a partition.
//
// Errors: kInvalidArgument (settings), kUnavailable (no broker answers), kFailedPrecondition (a topic
// doesn't exist, or none matches).
absl::Status TailTopics(const Settings& settings, const TailOptions& options, OnRecord on_record);

}  // namespace walpost::sink
