// When each event passed the relay's own stages: what a traced relay writes and the lag scenario reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost::bench {

// One event; times are CLOCK_MONOTONIC in ns. A file of them is what the machine has in memory: it
// never leaves the host.
struct Stages {
  std::int64_t number = 0;
  std::int64_t received = 0;      // its batch was taken from the stream
  std::int64_t produced = 0;      // handed to the sink
  std::int64_t acknowledged = 0;  // the receipt was taken
};

absl::StatusOr<std::vector<Stages>> ReadStages(const std::string& file);

}  // namespace walpost::bench
