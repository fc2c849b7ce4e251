// The sinks that the conformance tests run against: how each is made, and how what it delivered is
// read back by other means than its own.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/settings.h"
#include "sink/sink_table.h"

namespace walpost::sink {

// A message that owns its parts; also what was read back.
struct Record {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::string>> headers;
  std::int64_t timestamp_ms = 0;

  bool operator==(const Record&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Record& record);

class Subject {
 public:
  virtual ~Subject() = default;

  // Why it can't run here; empty if it can.
  virtual std::string skip_reason() const { return ""; }
  // A new session. `window`: delivery.max_inflight_messages.
  virtual std::unique_ptr<Sink> Open(int window) = 0;
  // Names the place of delivery of this test.
  virtual std::string topic() const = 0;
  // What has been delivered, in the receiver's order (per key), once `count` records are there or
  // 20 seconds have passed. None: this sink keeps nothing.
  virtual std::optional<std::vector<Record>> ReadBack(std::size_t count) = 0;
};

using MakeSubject = std::function<std::unique_ptr<Subject>()>;
std::unique_ptr<Subject> KafkaSubject();
std::unique_ptr<Subject> FileSubject();
std::unique_ptr<Subject> NullSubject();

// Settings of one sink and the window, as config.cc would load them.
Settings SettingsFor(std::string_view sink_type, int window);

// The sink that `settings` make; aborts the test if they don't.
std::unique_ptr<Sink> OpenSink(std::string_view sink_type, const Settings& settings);
// Likewise, with what an earlier one left behind.
std::unique_ptr<Sink> OpenSink(std::string_view sink_type, const Settings& settings,
                               std::any& memory);

}  // namespace walpost::sink
