#include "sink/kafka/client_log.h"

#include <utility>

#include "base/limits.h"
#include "base/log.h"

namespace walpost::sink::kafka {
namespace {

constexpr int kSyslogWarning = 4;
constexpr int kSyslogNotice = 5;

}  // namespace

bool ClientLog::Admit(MonotonicTime now) {
  if (now >= period_end_) {
    period_end_ = now + limits::kClientLogPeriod;
    lines_ = 0;
  }
  if (lines_ == limits::kClientLogLines) {
    ++suppressed_;
    return false;
  }
  ++lines_;
  return true;
}

void ClientLog::Line(int severity, std::string_view facility, std::string_view text,
                     MonotonicTime now) {
  // CONFWARN is said at each start about settings that are meant (enable.gapless.guarantee is
  // marked experimental). A FATAL error is the sink's failure, which the relay logs.
  if (severity > kSyslogNotice || facility == "CONFWARN" || facility == "FATAL") {
    log::Debug("kafka client", {{"facility", facility}, {"text", text}});
    return;
  }
  if (!Admit(now)) return;
  const auto suppressed = std::exchange(suppressed_, 0);
  const auto write = severity <= kSyslogWarning ? &log::Warning : &log::Info;
  write("kafka client", {{"facility", facility}, {"text", text}, {"suppressed", suppressed}});
}

void ClientLog::ClientError(std::string_view name, std::string_view text, MonotonicTime now) {
  if (!Admit(now)) return;
  log::Warning("kafka client error",
               {{"error", name}, {"text", text}, {"suppressed", std::exchange(suppressed_, 0)}});
}

}  // namespace walpost::sink::kafka
