// What was delivered against what was committed: a fast wrong run is a wrong run.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace walpost::bench {

struct Sighting {
  std::int64_t seen = 0;      // CLOCK_MONOTONIC in ns when the consumer had it first; 0: never
  std::int64_t appended = 0;  // the broker's own time in ms since 1970 (LogAppendTime)
  std::int32_t times = 0;
  std::int32_t partition = 0;
};

// What a consumer has seen.
struct Deliveries {
  std::vector<Sighting> sightings;     // by event number
  std::vector<std::int64_t> arrivals;  // event numbers in the order of their first delivery
  std::int64_t strangers = 0;          // records that are no event of the load
};

struct Correctness {
  std::int64_t committed = 0;
  std::int64_t delivered = 0;  // different events
  std::int64_t lost =
      0;  // not delivered, though a later one of its key was, or all has come to rest
  std::int64_t behind = 0;      // not delivered yet: the target was still at work when time ran out
  std::int64_t phantom = 0;     // records that are no committed event
  std::int64_t duplicates = 0;  // further deliveries of an event
  std::int64_t split = 0;       // events in another partition than the one before of their key
  std::int64_t out_of_order = 0;  // first deliveries after a later one of the same key

  bool ok() const { return lost == 0 && phantom == 0 && split == 0 && out_of_order == 0; }
  nlohmann::json ToJson() const;
};

// `committed`: for each event whether it is; `key_of`: a number for an event's key; `at_rest`: nothing
// more would come.
Correctness Check(const Deliveries& deliveries, const std::vector<bool>& committed,
                  const std::function<std::int64_t(std::int64_t)>& key_of, bool at_rest);

}  // namespace walpost::bench
