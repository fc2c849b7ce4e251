#include "capture/wal/pgoutput/decoder.h"

#include <gtest/gtest.h>

#include <map>

#include "status_is.h"
#include "wire.h"

namespace walpost::capture::pgoutput {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::Wire;

std::vector<std::string> Golden(const std::string& name) {
  std::vector<std::string> messages =
      testing::ReadHexLines(std::string(WALPOST_GOLDEN_DIR) + "/" + name);
  EXPECT_GT(messages.size(), 30U) << name;
  return messages;
}

class GoldenDecoder : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Servers, GoldenDecoder,
                         ::testing::Values("pg14_text.hex", "pg14_binary.hex", "pg15_text.hex",
                                           "pg15_binary.hex", "pg16_text.hex", "pg16_binary.hex",
                                           "pg17_text.hex", "pg17_binary.hex", "pg18_text.hex",
                                           "pg18_binary.hex"));

TEST_P(GoldenDecoder, DecodesEveryKindAServerSends) {
  Decoder decoder;
  std::map<std::size_t, int> kinds;
  for (const std::string& bytes : Golden(GetParam())) {
    const auto message = decoder.Decode(bytes);
    ASSERT_TRUE(message.ok()) << message.status();
    ++kinds[message->index()];
  }
  EXPECT_EQ(kinds.size(), 10U);  // all but the abort, which only version 18 sends
}

TEST_P(GoldenDecoder, EveryTruncationAndEveryExtensionIsAnError) {
  Decoder decoder;
  for (const std::string& bytes : Golden(GetParam())) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(decoder.Decode(std::string_view(bytes).substr(0, size)).status().code(),
                absl::StatusCode::kDataLoss)
          << bytes[0] << " cut to " << size;
    }
    EXPECT_THAT(decoder.Decode(bytes + std::string(1, '\0')),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("doesn't parse")))
        << bytes[0];
  }
}

TEST_P(GoldenDecoder, TransactionsAreWellFormed) {
  Decoder decoder;
  Lsn final_lsn;
  Xid xid;
  for (const std::string& bytes : Golden(GetParam())) {
    const auto message = decoder.Decode(bytes);
    ASSERT_TRUE(message.ok());
    if (const auto* begin = std::get_if<Begin>(&*message)) {
      EXPECT_GT(begin->xid.value, xid.value);
      EXPECT_GT(begin->commit_time, absl::FromCivil(absl::CivilYear(2020), absl::UTCTimeZone()));
      xid = begin->xid;
      final_lsn = begin->final_lsn;
    }
    if (const auto* commit = std::get_if<Commit>(&*message)) {
      EXPECT_EQ(commit->commit_lsn, final_lsn);
      EXPECT_GT(commit->end_lsn, commit->commit_lsn);
    }
  }
}

TEST_P(GoldenDecoder, FirstInsertHasTheValuesOfTheRow) {
  const bool binary = std::string(GetParam()).find("binary") != std::string::npos;
  Decoder decoder;
  for (const std::string& bytes : Golden(GetParam())) {
    const auto message = decoder.Decode(bytes);
    ASSERT_TRUE(message.ok());
    const auto* insert = std::get_if<Insert>(&*message);
    if (insert == nullptr) continue;
    ASSERT_EQ(insert->values.size(), 6U);
    EXPECT_EQ(insert->values[0].kind, binary ? Value::Kind::kBinary : Value::Kind::kText);
    EXPECT_EQ(insert->values[0].bytes,
              binary ? std::string(15, '\0') + "\1" : "00000000-0000-0000-0000-000000000001");
    EXPECT_EQ(insert->values[2].bytes, "4711");
    EXPECT_EQ(insert->values[4].bytes,
              std::string(binary ? "\1" : "") + R"({"a": [1.50, "ü"], "b": 1})");
    return;
  }
  FAIL() << "no insert";
}

// Bytes that no server would send on purpose.

Wire Tuple(int columns) {
  return Wire().Byte('I').Int32(1).Byte('N').Int16(static_cast<std::uint16_t>(columns));
}

TEST(Decoder, EmptyTextIsNotNull) {
  Decoder decoder;
  const std::string bytes = Tuple(2).Byte('t').Int32(0).Byte('n').bytes();
  const auto message = decoder.Decode(bytes);
  ASSERT_TRUE(message.ok());
  const auto& insert = std::get<Insert>(*message);
  EXPECT_EQ(insert.values[0].kind, Value::Kind::kText);
  EXPECT_EQ(insert.values[1].kind, Value::Kind::kNull);
}

TEST(Decoder, MalformedTuplesAreErrors) {
  Decoder decoder;
  const std::string malformed[] = {
      Tuple(1).bytes(),                                      // a column missing
      Tuple(-1).bytes(),                                     // a negative count
      Tuple(1).Byte('t').Int32(5).Raw("four").bytes(),       // a length beyond the message
      Tuple(1).Byte('t').Int32(0x80000000).bytes(),          // a negative length
      Tuple(1).Byte('b').Int32(0x7FFFFFFF).bytes(),          // a length that must not be allocated
      Tuple(1).Byte('x').bytes(),                            // an unknown kind
      Tuple(0).Byte('n').bytes(),                            // more than was announced
      Wire().Byte('I').Int32(1).Byte('K').Int16(0).bytes(),  // a key tuple in an insert
  };
  for (const std::string& bytes : malformed) {
    EXPECT_THAT(decoder.Decode(bytes),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("type 'I'")));
  }
}

TEST(Decoder, HugeCountsAreReadNotAllocated) {
  Decoder decoder;
  EXPECT_THAT(decoder.Decode(Wire().Byte('T').Int32(0xFFFFFFFF).Byte(0).bytes()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("type 'T'")));
  EXPECT_THAT(
      decoder.Decode(Wire().Byte('R').Int32(1).Text("").Text("t").Byte('d').Int16(0x7FFF).bytes()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("type 'R'")));
}

TEST(Decoder, WhatWasNotAskedForIsAnErrorNotSkipped) {
  Decoder decoder;
  for (const char kind : {'S', 'E', 'c'}) {
    EXPECT_THAT(decoder.Decode(std::string(1, kind)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("streamed")));
  }
  for (const char kind : {'b', 'P', 'K', 'r', 'p'}) {
    EXPECT_THAT(decoder.Decode(std::string(1, kind)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("two-phase")));
  }
  EXPECT_THAT(decoder.Decode("Z"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unknown")));
  EXPECT_THAT(decoder.Decode(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("empty")));
}

// Version 18 sends an abort for a transaction that rolled back, streaming off or not.
TEST(Decoder, StreamAbortInBothLengths) {
  Decoder decoder;
  EXPECT_TRUE(decoder.Decode(Wire().Byte('A').Int32(7).Int32(8).bytes()).ok());
  EXPECT_TRUE(decoder.Decode(Wire().Byte('A').Int32(7).Int32(8).Int64(1).Int64(2).bytes()).ok());
  EXPECT_FALSE(decoder.Decode(Wire().Byte('A').Int32(7).Int32(8).Int64(1).bytes()).ok());
}

TEST(Decoder, LsnsAreUnsigned) {
  Decoder decoder;
  const auto message = decoder.Decode(Wire()
                                          .Byte('C')
                                          .Byte(0)
                                          .Int64(0xFFFFFFFFFFFFFFF0)
                                          .Int64(0xFFFFFFFFFFFFFFFF)
                                          .Int64(0)
                                          .bytes());
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(std::get<Commit>(*message).end_lsn, Lsn(0xFFFFFFFFFFFFFFFF));
}

}  // namespace
}  // namespace walpost::capture::pgoutput
