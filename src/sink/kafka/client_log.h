// librdkafka's own lines and errors, passed on to walpost's log.
//
// A client without brokers says so several times a second: at most kClientLogLines lines come
// through in each kClientLogPeriod; the next one that does says how many did not.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace walpost::sink::kafka {

// Thread: loop only.
class ClientLog {
 public:
  // One line of librdkafka: `severity` as syslog counts (0 emergency … 7 debug), `facility` its
  // short name for the place ("FAIL", "CONFWARN").
  void Line(int severity, std::string_view facility, std::string_view text, MonotonicTime now);

  // An error that librdkafka reports to the application and goes on from.
  void ClientError(std::string_view name, std::string_view text, MonotonicTime now);

 private:
  bool Admit(MonotonicTime now);

  MonotonicTime period_end_;
  std::size_t lines_ = 0;       // in this period
  std::size_t suppressed_ = 0;  // since the last line that was written
};

}  // namespace walpost::sink::kafka
