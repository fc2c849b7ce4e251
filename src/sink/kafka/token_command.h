// OAUTHBEARER tokens from a command of the operator's (kafka.token_command), which prints one JSON
// object: {"token": "…", "expires_at": seconds since 1970, "principal": "…"}.
//
// Thread: owns one while a command runs. The public functions are for the loop.
#pragma once

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sink/event_fd.h"
#include "sink/kafka/handles.h"
#include "sink/mutex.h"

namespace walpost::sink::kafka {

struct Token {
  std::string value;
  std::string principal;
  absl::Time expires_at;
};

// What a command printed. Errors: kInvalidArgument; never repeats the text.
absl::StatusOr<Token> ParseToken(std::string_view json, absl::Time now);

class TokenCommand {
 public:
  // `producer` must outlive it. `stop` is this object's own.
  TokenCommand(rd_kafka_t* producer, std::vector<std::string> command, EventFd stop);
  // Ends a command that is running.
  ~TokenCommand();

  // librdkafka wants a token: runs the command, unless it is running already. What comes of it,
  // librdkafka is told; it asks again.
  void Refresh();

 private:
  void Run();
  absl::StatusOr<std::string> Output();

  rd_kafka_t* const producer_;
  const std::vector<std::string> command_;
  const EventFd stop_;
  Mutex mutex_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace walpost::sink::kafka
