// The presets of the polling relay: what the target table names, and the verb `poll` runs.
#pragma once

#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace walpost::bench {

struct PollPreset {
  std::string_view name;
  std::string_view about;
  std::string_view table_sql;  // its columns and index
  std::string_view take;       // returns id, aggregate_id, payload of what is to be sent
  std::string_view done;       // marks the ids $1 as sent
  absl::Duration pause;        // after each round, full or not
  bool holds_locks;            // take and done are one transaction
};

const std::vector<PollPreset>& PollPresets();
// Null if there is none of that name.
const PollPreset* FindPollPreset(std::string_view name);

inline constexpr const char* kPollerApplication = "walpost-bench-poll";

}  // namespace walpost::bench
