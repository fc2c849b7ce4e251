// A plain idempotent producer with the settings that walpost's profile `balanced` has: acks=all, lz4,
// linger 0. What the polling relay and the bare measurements of the broker use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

struct rd_kafka_s;
struct rd_kafka_topic_s;

namespace walpost::bench {

// Thread: one.
class Producer {
 public:
  // `on_ack` gets the number given to Send and when its acknowledgement arrived, from within calls.
  static absl::StatusOr<std::unique_ptr<Producer>> Start(
      const std::string& bootstrap, const std::string& topic,
      std::function<void(std::int64_t number, std::int64_t now)> on_ack = nullptr);
  ~Producer();

  // Copies key and value. Waits while its queue is full. Errors: of the first refused message.
  absl::Status Send(std::int64_t number, std::string_view id, std::string_view key,
                    std::string_view value);
  // Serves acknowledgements for so long, or once if 0.
  void Poll(absl::Duration limit);
  // Waits for all acknowledgements. Errors: as Send, kDeadlineExceeded after a minute.
  absl::Status Flush();

 private:
  Producer() = default;
  friend struct ProducerCallback;
  rd_kafka_s* client_ = nullptr;
  rd_kafka_topic_s* topic_ = nullptr;
  std::function<void(std::int64_t, std::int64_t)> on_ack_;
  absl::Status failure_;
};

}  // namespace walpost::bench
