#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/limits.h"
#include "base/status.h"

namespace walpost::log {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using std::string_literals::operator""s;

constexpr char kTime[] = "2026-01-02T03:04:05.678901Z";

std::string Logfmt(std::string_view text, std::initializer_list<Field> fields) {
  return Render(Format::kLogfmt, Level::kInfo, kTime, text, fields);
}
std::string Json(std::string_view text, std::initializer_list<Field> fields) {
  return Render(Format::kJson, Level::kInfo, kTime, text, fields);
}

TEST(LogTest, LogfmtPutsTheConstantTextFirstAndQuotesWhatNeedsIt) {
  EXPECT_EQ(Logfmt("slot is busy", {{"slot", "orders"},
                                    {"pid", 4711},
                                    {"lsn", Lsn(0x16B3748)},
                                    {"holder", "psql on host"},
                                    {"empty", ""},
                                    {"pair", "a=b"}}),
            "ts=2026-01-02T03:04:05.678901Z level=info msg=\"slot is busy\" slot=orders pid=4711 "
            "lsn=0/16B3748 holder=\"psql on host\" empty=\"\" pair=\"a=b\"");
}

TEST(LogTest, JsonKeepsNumbersNumbers) {
  EXPECT_EQ(Json("streaming", {{"slot", "orders"}, {"bytes", 12}, {"delta", -3}, {"lsn", Lsn(1)}}),
            "{\"ts\":\"2026-01-02T03:04:05.678901Z\",\"level\":\"info\",\"msg\":\"streaming\","
            "\"slot\":\"orders\",\"bytes\":12,\"delta\":-3,\"lsn\":\"0/1\"}");
}

TEST(LogTest, NumbersThatJsonDoesNotKnowBecomeStrings) {
  EXPECT_THAT(Json("x", {{"v", std::numeric_limits<double>::infinity()}}),
              HasSubstr("\"v\":\"inf\""));
  EXPECT_THAT(Json("x", {{"v", std::nan("")}}), HasSubstr("\"v\":\"nan\""));
}

TEST(LogTest, EachLevelHasItsName) {
  EXPECT_THAT(Render(Format::kJson, Level::kDebug, kTime, "x", {}), HasSubstr("\"debug\""));
  EXPECT_THAT(Render(Format::kJson, Level::kInfo, kTime, "x", {}), HasSubstr("\"info\""));
  EXPECT_THAT(Render(Format::kJson, Level::kWarning, kTime, "x", {}), HasSubstr("\"warning\""));
  EXPECT_THAT(Render(Format::kJson, Level::kError, kTime, "x", {}), HasSubstr("\"error\""));
  for (const char* name : {"debug", "info", "warning", "error"}) {
    const auto level = ParseLevel(name);
    ASSERT_TRUE(level.has_value());
    EXPECT_THAT(Render(Format::kLogfmt, *level, kTime, "x", {}), HasSubstr("level="s + name));
  }
  EXPECT_EQ(ParseLevel("INFO"), std::nullopt);
  EXPECT_EQ(ParseLevel("trace"), std::nullopt);
}

TEST(LogTest, FormatsAreKnownByName) {
  EXPECT_EQ(ParseFormat("auto"), Format::kAuto);
  EXPECT_EQ(ParseFormat("logfmt"), Format::kLogfmt);
  EXPECT_EQ(ParseFormat("json"), Format::kJson);
  EXPECT_EQ(ParseFormat("text"), std::nullopt);
}

// What a row's author could try through a name that is logged.
TEST(LogTest, AValueCannotForgeALine) {
  const std::string forged = "x\n2026-01-02 INFO admin login ok\r\n";
  for (const std::string& line :
       {Logfmt("bad row", {{"table", forged}}), Json("bad row", {{"table", forged}})}) {
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_THAT(line, Not(HasSubstr("\r")));
    EXPECT_THAT(line, HasSubstr("x\\n2026-01-02 INFO admin login ok\\r\\n"));
  }
}

TEST(LogTest, AValueCannotCloseItsQuotes) {
  const std::string forged = R"("}{"level":"info)";
  EXPECT_THAT(Json("x", {{"table", forged}}), HasSubstr(R"("table":"\"}{\"level\":\"info"})"));
  EXPECT_THAT(Logfmt("x", {{"table", "a\" admin=true"}}), HasSubstr(R"(table="a\" admin=true")"));
  EXPECT_THAT(Logfmt("x", {{"table", "a\\"}}), HasSubstr(R"(table="a\\")"));
}

TEST(LogTest, TerminalSequencesAndInvisibleCharactersAreEscaped) {
  EXPECT_THAT(Logfmt("x", {{"v", "\x1b[2J"}}), HasSubstr(R"(v="\u001b[2J")"));
  EXPECT_THAT(Json("x", {{"v", "\x1b[2J"}}), HasSubstr(R"("v":"\u001b[2J")"));
  EXPECT_THAT(Logfmt("x", {{"v",
                            "\xC2\x9B"
                            "31m"}}),
              HasSubstr(R"(v="\u009b31m")"));  // C1
  EXPECT_THAT(Logfmt("x", {{"v",
                            "a\xE2\x80\xA8"
                            "b"}}),
              HasSubstr(R"(v="a\u2028b")"));  // line separator
  EXPECT_THAT(Logfmt("x", {{"v",
                            "a\xE2\x80\xAE"
                            "b"}}),
              HasSubstr(R"(v="a\u202eb")"));  // right to left
  EXPECT_THAT(Logfmt("x", {{"v", "a\0b"s}}), HasSubstr(R"(v="a\u0000b")"));
  EXPECT_THAT(Logfmt("x", {{"v", "\x7F"}}), HasSubstr(R"(v="\u007f")"));
}

TEST(LogTest, EveryControlCharacterIsEscapedInBothFormats) {
  for (int c = 0; c < 0x20; ++c) {
    for (const Format format : {Format::kLogfmt, Format::kJson}) {
      const std::string value = "a"s + static_cast<char>(c) + "b";
      const std::string line = Render(format, Level::kInfo, kTime, "x", {{"v", value}});
      EXPECT_EQ(line.find(static_cast<char>(c)), c == ' ' ? 0 : std::string::npos) << c;
    }
  }
}

TEST(LogTest, BytesThatAreNoUtf8AreShownAndTextIsKept) {
  EXPECT_THAT(Logfmt("x", {{"v", "caf\xE9"}}), HasSubstr(R"(v="caf\xE9")"));
  EXPECT_THAT(Json("x", {{"v", "caf\xE9"}}), HasSubstr(R"("v":"caf\\xE9")"));
  EXPECT_THAT(Json("x", {{"v", "caf\xC3\xA9"}}), HasSubstr("caf\xC3\xA9"));
  EXPECT_THAT(Json("x", {{"v", "\xF0\x9F\x98\x80"}}), HasSubstr("\xF0\x9F\x98\x80"));
  EXPECT_THAT(Json("x", {{"v", "\xED\xA0\x80"}}), HasSubstr(R"(\\xED\\xA0\\x80)"));  // a surrogate
}

TEST(LogTest, AnEndlessValueIsCutAndSaysHowLongItWas) {
  const std::string line = Json("x", {{"v", std::string(100'000, 'a')}});
  EXPECT_LT(line.size(), limits::kLogValueBytes + 200);
  EXPECT_THAT(line, HasSubstr("... 100000 bytes\""));
}

class LogWriteTest : public ::testing::Test {
 protected:
  void TearDown() override { Configure(Level::kInfo, Format::kAuto); }
};

TEST_F(LogWriteTest, WritesFromTheConfiguredLevelUpwardsOneLineEach) {
  Configure(Level::kWarning, Format::kLogfmt);
  testing::internal::CaptureStderr();
  Debug("a");
  Info("b");
  Warning("c", {{"n", 1}});
  Error("d");
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_THAT(out, Not(HasSubstr("msg=\"a\"")));
  EXPECT_THAT(out, Not(HasSubstr("msg=\"b\"")));
  EXPECT_THAT(out, HasSubstr("level=warning msg=\"c\" n=1\n"));
  EXPECT_THAT(out, HasSubstr("level=error msg=\"d\"\n"));
}

TEST_F(LogWriteTest, AFailureShowsErrorAndHint) {
  Configure(Level::kInfo, Format::kJson);
  testing::internal::CaptureStderr();
  Failure("stopped",
          WithHint(walpost::Error(absl::StatusCode::kDataLoss, "gap at 0/1"), "compare the table"));
  Failure("stopped", walpost::Error(absl::StatusCode::kDataLoss, "no hint here"));
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_THAT(out, HasSubstr(R"("msg":"stopped","err":"gap at 0/1","hint":"compare the table"})"));
  EXPECT_THAT(out, HasSubstr(R"("err":"no hint here"})"));
}

}  // namespace
}  // namespace walpost::log
