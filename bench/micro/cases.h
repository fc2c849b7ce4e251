// The four stations of an event's way that cost CPU, each as one step that can be repeated: what
// Google Benchmark times and callgrind counts.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace walpost::bench {

// Thread: one.
class MicroCase {
 public:
  virtual ~MicroCase() = default;
  // Handles one event (one transaction of a single row of about 500 bytes).
  virtual void Step() = 0;
};

struct MicroRow {
  std::string_view name;
  std::unique_ptr<MicroCase> (*make)();
};

// decode: frames to a batch. map: a row to an event. build: an event to a message with its envelope.
// track: tickets and their acknowledgement.
const std::vector<MicroRow>& MicroCases();

}  // namespace walpost::bench
