#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using std::string_literals::operator""s;

TEST(ByteReaderTest, ReadsBigEndianNumbersOneAfterAnother) {
  const std::string bytes =
      "\x01"
      "\x02\x03"
      "\x04\x05\x06\x07"
      "\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F"s;
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Uint8(), 0x01);
  EXPECT_EQ(reader.Uint16(), 0x0203);
  EXPECT_EQ(reader.Uint32(), 0x04050607U);
  EXPECT_EQ(reader.Uint64(), 0x08090A0B0C0D0E0FU);
  EXPECT_TRUE(reader.empty());
}

TEST(ByteReaderTest, ReadsSignedNumbers) {
  ByteReader reader("\xFF\xFE\xFF\xFF\xFF\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFC");
  EXPECT_EQ(reader.Int16(), -2);
  EXPECT_EQ(reader.Int32(), -3);
  EXPECT_EQ(reader.Int64(), -4);
}

TEST(ByteReaderTest, AReadPastTheEndGivesNothingAndMovesNothing) {
  const std::string bytes = "\x01\x02\x03\x04\x05\x06\x07\x08"s;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view cut = std::string_view(bytes).substr(0, size);
    ByteReader reader(cut);
    EXPECT_EQ(reader.Uint64().has_value(), size >= 8) << size;
    reader = ByteReader(cut);
    EXPECT_EQ(reader.Int32().has_value(), size >= 4) << size;
    reader = ByteReader(cut);
    EXPECT_EQ(reader.Uint16().has_value(), size >= 2) << size;
    reader = ByteReader(cut);
    EXPECT_EQ(reader.Uint8().has_value(), size >= 1) << size;
    reader = ByteReader(cut);
    EXPECT_EQ(reader.Bytes(size + 1), std::nullopt);
    EXPECT_EQ(reader.remaining(), size);
    EXPECT_EQ(reader.Bytes(size), cut);
    EXPECT_TRUE(reader.empty());
  }
}

TEST(ByteReaderTest, AStringEndsAtItsNul) {
  const std::string bytes = "outbox\0\0rest"s;
  ByteReader reader(bytes);
  EXPECT_EQ(reader.CString(), "outbox");
  EXPECT_EQ(reader.CString(), "");
  EXPECT_EQ(reader.CString(), std::nullopt);  // no NUL any more
  EXPECT_EQ(reader.Bytes(4), "rest");
}

TEST(ByteReaderTest, ALengthNearTheLargestNumberDoesNotWrap) {
  ByteReader reader("abc");
  EXPECT_EQ(reader.Bytes(static_cast<std::size_t>(-1)), std::nullopt);
  EXPECT_EQ(reader.remaining(), 3U);
}

}  // namespace
}  // namespace walpost
