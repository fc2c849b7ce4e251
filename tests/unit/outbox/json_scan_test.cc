#include "outbox/json_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

Members MembersOf(std::string_view text) {
  Members members;
  ScanJson(text, [&members](std::string_view name, std::string_view value) {
    members.emplace_back(name, value);
  });
  return members;
}

TEST(JsonScan, TellsObjectsArraysAndScalars) {
  EXPECT_EQ(ScanJson("{}"), JsonShape::kObject);
  EXPECT_EQ(ScanJson(" \t\r\n{ } \n"), JsonShape::kObject);
  EXPECT_EQ(ScanJson("[]"), JsonShape::kArray);
  EXPECT_EQ(ScanJson("[[], {}, [ ]]"), JsonShape::kArray);
  for (const char* scalar :
       {"1", "-0", "0", "12.5e-3", "1E9", "\"\"", "\"a\\u00e4\\n\"", "true", "false", "null"}) {
    EXPECT_EQ(ScanJson(scalar), JsonShape::kScalar) << scalar;
  }
}

TEST(JsonScan, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "]",
                           "{]",
                           "[}",
                           "[,]",
                           "[1,]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{,}",
                           "{a:1}",
                           "{1:1}",
                           "{\"a\" 1}",
                           "[1]]",
                           "{}{}",
                           "1 2",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "+1",
                           "tru",
                           "nul",
                           "True",
                           "NaN",
                           "'a'",
                           "\"",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"tab\there\"",
                           "plain words",
                           "{\"a\":1}x"}) {
    EXPECT_EQ(ScanJson(text), JsonShape::kMalformed) << text;
  }
}

TEST(JsonScan, FindsControlCharactersQuotesAndBackslashesAtEveryOffset) {
  for (std::size_t before = 0; before < 24; ++before) {
    const std::string plain(before, 'x');
    for (int c = 0; c < 256; ++c) {
      const std::string text = "[\"" + plain + static_cast<char>(c) + plain + "\"]";
      const bool special = c < 0x20 || c == '"' || c == '\\';
      // A backslash before the final 'x' or quote is no escape either.
      EXPECT_EQ(ScanJson(text), special ? JsonShape::kMalformed : JsonShape::kArray)
          << before << ' ' << c;
    }
  }
}

TEST(JsonScan, EveryTruncationIsMalformed) {
  for (
      const std::string sample :
      {R"({"version": 1, "data": {"a": [1, -2.5e+3, "x\u00e4\\\"", {}], "b": null}, "metadata": {}})",
       R"([true, false, null, "long enough for whole words", [[[]]], {"k": {"k": 0}}])",
       R"("a \u1234 string")"}) {
    ASSERT_NE(ScanJson(sample), JsonShape::kMalformed) << sample;
    for (std::size_t size = 0; size < sample.size(); ++size) {
      // In its own allocation, so that a sanitizer sees a read past the end.
      const std::vector<char> cut(sample.begin(),
                                  sample.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(ScanJson({cut.data(), cut.size()}), JsonShape::kMalformed)
          << size << ": " << sample;
    }
  }
}

TEST(JsonScan, GivesTheMembersOfTheTopLevelOnly) {
  EXPECT_EQ(
      MembersOf(R"( { "a" : 1 , "b":{"c": [2, {"d": 3}]},"e\n":"f\"g", "h": [ ] } )"),
      (Members{{"a", "1"}, {"b", R"({"c": [2, {"d": 3}]})"}, {"e\\n", R"("f\"g")"}, {"h", "[ ]"}}));
  EXPECT_EQ(MembersOf(R"([{"a": 1}])"), Members());
  EXPECT_EQ(MembersOf(R"({"a": 1, "a": 2})"), (Members{{"a", "1"}, {"a", "2"}}));
}

TEST(JsonScan, NestsToItsLimitAndNoFurther) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(ScanJson(nested(kJsonDepth)), JsonShape::kArray);
  EXPECT_EQ(ScanJson(nested(kJsonDepth + 1)), JsonShape::kMalformed);
  EXPECT_EQ(ScanJson(std::string(1000000, '[')), JsonShape::kMalformed);
}

TEST(UnescapeJson, UndoesEveryEscape) {
  std::string out;
  EXPECT_EQ(UnescapeJson("plain ä", out), "plain ä");
  EXPECT_TRUE(out.empty());  // not copied
  EXPECT_EQ(UnescapeJson(R"(\"\\\/\b\f\n\r\t|)", out), "\"\\/\b\f\n\r\t|");
  out = "kept";
  EXPECT_EQ(UnescapeJson(R"(\u0041\u00e4\u20ac\ud83d\ude00)", out), "Aä€😀");
  EXPECT_EQ(out, "keptAä€😀");
}

TEST(UnescapeJson, RefusesHalvesOfPairsAndOtherNonsense) {
  std::string out;
  for (const char* raw : {R"(\ud83d)", R"(\ud83dx)", R"(\ud83d\n)", R"(\ud83d\u0041)", R"(\ude00)",
                          R"(\u12)", R"(\x)", "a\\"}) {
    EXPECT_EQ(UnescapeJson(raw, out), std::nullopt) << raw;
  }
}

TEST(AppendJsonString, EscapesWhatJsonMust) {
  std::string out;
  AppendJsonString(std::string_view("a\"b\\c\n\x01\x1f/ä"), out);
  EXPECT_EQ(out, R"("a\"b\\c\n\u0001\u001F/ä")");
  EXPECT_EQ(ScanJson(out), JsonShape::kScalar);
}

}  // namespace
}  // namespace walpost::outbox
