#include "output.h"

#include <gtest/gtest.h>

#include <sstream>

namespace walpost::slots {
namespace {

TEST(OutputTest, SizesHaveOneDecimalAndTheirUnit) {
  EXPECT_EQ(Bytes(std::nullopt), "-");
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1536), "1.5 kiB");
  EXPECT_EQ(Bytes(std::int64_t{3} << 40), "3.0 TiB");
  EXPECT_EQ(Bytes(-2048), "-2.0 kiB");
}

TEST(OutputTest, AgesHaveTheirTwoLargestUnits) {
  EXPECT_EQ(Age(std::nullopt), "-");
  EXPECT_EQ(Age(absl::Seconds(59)), "59s");
  EXPECT_EQ(Age(absl::Seconds(61)), "1m01s");
  EXPECT_EQ(Age(absl::Minutes(200)), "3h20m");
  EXPECT_EQ(Age(absl::Hours(49)), "2d01h");
  EXPECT_EQ(Age(absl::InfiniteDuration()), ">10y");
}

TEST(OutputTest, ColumnsAreAsWideAsTheirWidestCharacters) {
  std::ostringstream out;
  PrintTable({{"A", "B"}, {{"ä", "x"}, {"long", "y"}}}, out);
  EXPECT_EQ(out.str(), "A     B\nä     x\nlong  y\n");
}

TEST(OutputTest, ALineIsCutByCharacters) {
  EXPECT_EQ(Cut("äöü", 2), "äö");
  EXPECT_EQ(Cut("ab", 5), "ab");
  EXPECT_EQ(Cut("ab", 0), "");
  EXPECT_EQ(Cut("ab", std::string::npos), "ab");
}

TEST(OutputTest, CsvQuotesWhatHasToBe) {
  std::ostringstream out;
  PrintCsv({Json{{"a", "x,\"y\"\n"}, {"b", 1}, {"c", nullptr}}}, out);
  EXPECT_EQ(out.str(), "a,b,c\r\n\"x,\"\"y\"\"\n\",1,\r\n");
}

TEST(OutputTest, JsonSaysNullForWhatIsNotKnown) {
  SlotRow slot;
  slot.situation.name = "s";
  slot.confirmed_flush_lsn = Lsn(0x1600000010);
  const Json json = ToJson(slot);
  EXPECT_EQ(json["confirmed_flush_lsn"], "16/10");
  EXPECT_TRUE(json["restart_lsn"].is_null());
  EXPECT_TRUE(json["retained_bytes"].is_null());
  EXPECT_TRUE(json["active_pid"].is_null());
  EXPECT_EQ(json["verdict"], "OK");
}

}  // namespace
}  // namespace walpost::slots
