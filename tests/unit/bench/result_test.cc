#include "report/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/histogram.h"
#include "report/html.h"
#include "status_is.h"

namespace walpost::bench {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json Lag(std::int64_t microseconds) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.Record(microseconds + i);
  return {{"intended_to_consumer", histogram.ToJson()},
          {"commit_to_consumer", histogram.ToJson()},
          {"commit_to_append", histogram.ToJson()}};
}

json LagRow(const char* target, std::int64_t microseconds, bool right) {
  return {
      {"target", target},
      {"rate", 1000},
      {"lag", Lag(microseconds)},
      {"over_time", json::array({{0, 100, microseconds, microseconds + 99, microseconds + 99}})},
      {"cost", {{"cpu_share", 0.05}, {"server_cpu_share", 0.1}, {"peak_bytes", 20'000'000}}},
      {"usage", json::array({{0.5, 0.05, 20'000'000, 0.1}, {1.0, 0.05, 20'000'000, 0.1}})},
      {"correctness", {{"ok", right}, {"behind", 0}}}};
}

json ResultOf(const json& rows) {
  return {{"schema", kResultSchema},
          {"started_at", "2026-01-01T00:00:00Z"},
          {"host", {{"cpu", "a"}, {"cores", 2}}},
          {"options", json::object()},
          {"versions", json::object()},
          {"settings", json::object()},
          {"wrong", json::array()},
          {"scenarios", {{"lag", rows}}}};
}

TEST(Tables, RatiosAreToWalpost) {
  const json result =
      ResultOf(json::array({LagRow("walpost", 1000, true), LagRow("debezium", 4000, true)}));
  const std::vector<TitledTable> tables = TablesOf(result);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].rows[1][1], "1.00");
  EXPECT_EQ(tables[0].rows[2][0], "debezium");
  EXPECT_NEAR(std::stod(tables[0].rows[2][1]), 3.86, 0.01);
}

TEST(Tables, AWrongTargetSaysSo) {
  const json result = ResultOf(json::array({LagRow("walpost", 1000, false)}));
  EXPECT_EQ(TablesOf(result)[0].rows[1].back(), "WRONG");
  EXPECT_THAT(HtmlReport(result), HasSubstr("<td class=bad>WRONG</td>"));
}

TEST(Tables, ATargetThatFailedKeepsItsRow) {
  const json result =
      ResultOf(json::array({LagRow("walpost", 1000, true),
                            {{"target", "debezium"}, {"rate", 1000}, {"error", "no java"}}}));
  EXPECT_THAT(TablesOf(result)[0].rows[2][1], HasSubstr("failed"));
}

TEST(Html, NeedsNothingFromOutside) {
  const std::string html = HtmlReport(ResultOf(json::array({LagRow("walpost", 1000, true)})));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("<svg"));
}

class ReadResultTest : public ::testing::Test {
 protected:
  std::string File(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  ~ReadResultTest() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "walpost_result_test.json";
};

TEST_F(ReadResultTest, RefusesWhatIsNone) {
  EXPECT_THAT(ReadResult("/nonexistent"),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nonexistent")));
  EXPECT_THAT(ReadResult(File("{}")),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a result")));
  EXPECT_THAT(ReadResult(File(R"({"schema": 99, "host": {}, "options": {}, "scenarios": {}})")),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("schema 99")));
  EXPECT_TRUE(
      ReadResult(File(R"({"schema": 1, "host": {}, "options": {}, "scenarios": {}})")).ok());
}

}  // namespace
}  // namespace walpost::bench
