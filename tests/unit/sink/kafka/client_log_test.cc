#include "sink/kafka/client_log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "base/limits.h"

namespace walpost::sink::kafka {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kError = 3;

MonotonicTime At(absl::Duration since_start) { return MonotonicTime(1) + since_start; }

class ClientLogTest : public ::testing::Test {
 protected:
  std::string Lines(int count, absl::Duration at) {
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < count; ++i) log_.Line(kError, "FAIL", "Connection refused", At(at));
    return ::testing::internal::GetCapturedStderr();
  }
  static long LineCount(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }

  ClientLog log_;
};

TEST_F(ClientLogTest, AFloodIsCutToAFewLines) {
  EXPECT_EQ(LineCount(Lines(1000, absl::ZeroDuration())), long{limits::kClientLogLines});
}

TEST_F(ClientLogTest, TheNextPeriodSaysHowManyWereLeftOut) {
  Lines(10, absl::ZeroDuration());
  const std::string text = Lines(2, limits::kClientLogPeriod);
  EXPECT_EQ(LineCount(text), 2);
  EXPECT_THAT(text, HasSubstr("suppressed"));
  EXPECT_THAT(text, HasSubstr(std::to_string(10 - limits::kClientLogLines)));
}

TEST_F(ClientLogTest, DebugLinesAndMeantSettingsStayBelowInfo) {
  ::testing::internal::CaptureStderr();
  log_.Line(7, "SEND", "sent", At(absl::ZeroDuration()));
  log_.Line(4, "CONFWARN", "gapless is experimental", At(absl::ZeroDuration()));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("gapless")));
}

}  // namespace
}  // namespace walpost::sink::kafka
