#include "report/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Draw, NothingToDrawIsNoFigure) {
  EXPECT_EQ(Draw({.title = "empty"}, {}), "");
  EXPECT_EQ(Draw({.lines = {{"a", {}}}}, {"a"}), "");
  EXPECT_EQ(Draw({.lines = {{"a", {{0, 0}}}}, .logarithmic = true}, {"a"}), "");
}

TEST(Draw, NamesAreEscaped) {
  const std::string svg =
      Draw({.title = "<&>", .lines = {{"cmd:'x'", {{0, 1}, {1, 2}}}}}, {"cmd:'x'"});
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("cmd:&#39;x&#39;"));
  EXPECT_THAT(svg, Not(HasSubstr("<&>")));
}

TEST(Draw, NoCoordinateIsLost) {
  for (const bool logarithmic : {false, true}) {
    for (const bool percentiles : {false, true}) {
      const Chart chart{.lines = {{"a", {{0, 0}, {0.5, 10}, {1, 1e9}}}, {"b", {{0.2, 5}}}},
                        .percentiles = percentiles,
                        .logarithmic = logarithmic};
      const std::string svg = Draw(chart, {"a", "b"});
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
    }
  }
}

TEST(Draw, ATargetKeepsItsColour) {
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(Draw({.lines = {{"b", {{0, 1}, {1, 2}}}}}, names), HasSubstr("line c1"));
}

TEST(Draw, AFaultIsShaded) {
  EXPECT_THAT(Draw({.lines = {{"a", {{0, 1}, {10, 2}}}}, .faults = {{2, 5}}}, {"a"}),
              HasSubstr("class=fault"));
}

}  // namespace
}  // namespace walpost::bench
