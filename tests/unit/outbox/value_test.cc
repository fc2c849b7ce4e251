#include "outbox/value.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Printed and sent by Postgres 15.
struct Golden {
  std::uint32_t type_oid;
  std::string_view text;
  std::string_view binary;  // in hexadecimal
};

const Golden kGoldens[] = {
    {kNumericOid, "0", "0000000000000000"},
    {kNumericOid, "0.00", "0000000000000002"},
    {kNumericOid, "1", "00010000000000000001"},
    {kNumericOid, "-1", "00010000400000000001"},
    {kNumericOid, "10000", "00010001000000000001"},
    {kNumericOid, "99999999", "0002000100000000270f270f"},
    {kNumericOid, "0.0001", "0001ffff000000040001"},
    {kNumericOid, "0.00010000", "0001ffff000000080001"},
    {kNumericOid, "-0.000012345", "0002fffe4000000904d21388"},
    {kNumericOid, "12345.6789", "0003000100000004000109291a85"},
    {kNumericOid, "100000000000000000000", "00010005000000000001"},
    {kNumericOid, "123456789012345678901234567890.123456789",
     "000b000700000009000c0d801ed204d2162e23340d801ed204d2162e2328"},
    {kNumericOid, "NaN", "00000000c0000000"},
    {kNumericOid, "Infinity", "00000000d0000020"},
    {kNumericOid, "-Infinity", "00000000f0000020"},
    {kNumericOid, "1.50", "000200000000000200011388"},
    {kNumericOid, "10000.00001", "000400010000000500010000000003e8"},
    {kNumericOid, "100000000", "00010002000000000001"},
    {kNumericOid, "-9999.9999", "0002000040000004270f270f"},
    {kNumericOid, "0.5", "0001ffff000000011388"},
    {kNumericOid, "0.00000000000000000001", "0001fffb000000140001"},
    {kTimestamptzOid, "2026-03-01 10:34:56.123456+00", "0002eef2ca403640"},
    {kTimestamptzOid, "2000-01-01 00:00:00+00", "0000000000000000"},
    {kTimestamptzOid, "1999-12-31 23:59:59.999999+00", "ffffffffffffffff"},
    {kTimestamptzOid, "2026-03-01 10:34:56.5+00", "0002eef2ca45f520"},
    {kTimestamptzOid, "infinity", "7fffffffffffffff"},
    {kTimestamptzOid, "-infinity", "8000000000000000"},
    {kTimestamptzOid, "0044-03-15 12:00:00+00 BC", "ff1af9e8fb46d000"},
    {kTimestamptzOid, "0001-01-01 00:00:00+00", "ff1fe2ffc59c6000"},
    {kTimestamptzOid, "0001-12-31 23:59:59.9+00 BC", "ff1fe2ffc59ad960"},
    {kTimestamptzOid, "12345-06-07 01:02:03+00", "0487dafa31fd18c0"},
    {kTimestamptzOid, "294276-12-31 23:59:59.999999+00", "7fffff5bb3b29fff"},
    {kTimestamptzOid, "4713-11-24 00:00:00+00 BC", "fd0f9983eb0ae000"},
    {kTimestamptzOid, "1970-01-01 00:00:00+00", "fffca2fec4c82000"},
    {kTimestamptzOid, "2024-02-29 00:00:00+00", "0002b578b58c6000"},
    {kTimestamptzOid, "1900-03-01 00:00:00+00", "fff4ce915caea000"},
    {kTimestamptzOid, "9999-12-31 23:59:59.999999+00", "0380e70b913b7fff"},
    {kTimestamptzOid, "10000-01-01 00:00:00+00", "0380e70b913b8000"},
    {kTimestampOid, "2026-03-01 10:34:56.123", "0002eef2ca403478"},
    {kTimestampOid, "infinity", "7fffffffffffffff"},
    {kTimestampOid, "0044-03-15 12:00:00 BC", "ff1af9e8fb46d000"},
    {kDateOid, "2026-03-01", "00002554"},
    {kDateOid, "2000-01-01", "00000000"},
    {kDateOid, "1999-12-31", "ffffffff"},
    {kDateOid, "infinity", "7fffffff"},
    {kDateOid, "-infinity", "80000000"},
    {kDateOid, "0044-03-15 BC", "fff49d7b"},
    {kDateOid, "4713-11-24 BC", "ffda9915"},
    {kDateOid, "5874897-12-31", "7fda970c"},
    {kDateOid, "12345-01-02", "0039a783"},
    {kTextArrayOid,
     "{a,\"b c\",\"\",\"NULL\",NULL,\"q\\\"x\\\\y\",\"{\",\"x,y\",ä,\"tab\tx\",\" "
     "lead\",\"null\",nullx}",
     "0000000100000001000000190000000d0000000100000001610000000362206300000000000000044e554c4cfffff"
     "f"
     "ff000000057122785c79000000017b00000003782c7900000002c3a400000005746162097800000005206c6561640"
     "0"
     "0000046e756c6c000000056e756c6c78"},
    {kTextArrayOid, "{}", "000000000000000000000019"},
    {kTextArrayOid, "[2:3]={a,b}", "000000010000000000000019000000020000000200000001610000000162"},
    {kTextArrayOid, "{{a,b},{c,d}}",
     "000000020000000000000019000000020000000100000002000000010000000161000000016200000001630000000"
     "1"
     "64"},
    {kTextArrayOid, "[0:1][5:6]={{a,b},{c,NULL}}",
     "00000002000000010000001900000002000000000000000200000005000000016100000001620000000163ffffff"
     "ff"},
    {kTextArrayOid, "{{{a}},{{b}}}",
     "0000000300000000000000190000000200000001000000010000000100000001000000010000000161000000016"
     "2"},
    {1015, "{a,b}", "000000010000000000000413000000020000000100000001610000000162"},
    {kUuidOid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
    {kUuidOid, "00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000"},
    {kInt2Oid, "-32768", "8000"},
    {kInt2Oid, "32767", "7fff"},
    {kInt4Oid, "-2147483648", "80000000"},
    {kInt4Oid, "42", "0000002a"},
    {kInt8Oid, "-9223372036854775808", "8000000000000000"},
    {kInt8Oid, "9223372036854775807", "7fffffffffffffff"},
    {kInt8Oid, "-1", "ffffffffffffffff"},
    {kOidOid, "4294967295", "ffffffff"},
    {kBoolOid, "t", "01"},
    {kBoolOid, "f", "00"},
    {kJsonOid, R"({"b": 1,  "a":"ä"})", "7b2262223a20312c20202261223a22c3a4227d"},
    {kJsonbOid, R"({"a": "ä", "b": 1.50})", "017b2261223a2022c3a4222c202262223a20312e35307d"},
    {kByteaOid, "\\x", ""},
    {kByteaOid, "\\x00ff41", "00ff41"},
    {kByteCharOid, "a", "61"},
    {kByteCharOid, "", "00"},
    {kNameOid, "outbox", "6f7574626f78"},
    {kTextOid, "", ""},
    {kVarcharOid, "ä", "c3a4"},
    {kBpcharOid, "ab  ", "61622020"},
    {kEnumOid, "ZURÜCK", "5a5552c39c434b"},
};

class Reading {
 public:
  explicit Reading(std::uint32_t oid) : column_(ColumnOf("c", oid)), reader_(column_) {}
  explicit Reading(capture::Column column) : column_(std::move(column)), reader_(column_) {}

  absl::StatusOr<std::string> Text(capture::Value value) const {
    std::string scratch = "left over";
    ASSIGN_OR_RETURN(const std::string_view text, reader_.Text(value, scratch));
    return std::string(text);
  }
  absl::StatusOr<std::string> Payload(capture::Value value) const {
    std::string scratch = "left over";
    ASSIGN_OR_RETURN(const std::string_view text, reader_.Payload(value, scratch));
    return std::string(text);
  }
  const ColumnReader& operator*() const { return reader_; }
  const ColumnReader* operator->() const { return &reader_; }

 private:
  capture::Column column_;
  ColumnReader reader_;
};

TEST(Value, TextAndBinaryGiveWhatPostgresPrints) {
  for (const Golden& golden : kGoldens) {
    const Reading reading(golden.type_oid);
    const std::string bytes = FromHex(golden.binary);
    const auto of_text = reading.Text(TextValue(golden.text));
    ASSERT_THAT(of_text, IsOk()) << golden.text;
    EXPECT_EQ(*of_text, golden.text);
    const auto of_binary = reading.Text(BinaryValue(bytes));
    ASSERT_THAT(of_binary, IsOk()) << golden.text;
    EXPECT_EQ(*of_binary, golden.text);
  }
}

TEST(Value, TextAndBinaryGiveTheSamePayload) {
  for (const Golden& golden : kGoldens) {
    const Reading reading(golden.type_oid);
    const std::string bytes = FromHex(golden.binary);
    const auto of_text = reading.Payload(TextValue(golden.text));
    const auto of_binary = reading.Payload(BinaryValue(bytes));
    ASSERT_THAT(of_text, IsOk()) << golden.text;
    ASSERT_THAT(of_binary, IsOk()) << golden.text;
    EXPECT_EQ(*of_text, *of_binary);
    EXPECT_EQ(*of_text, golden.type_oid == kByteaOid ? bytes : golden.text);
  }
}

TEST(Value, TextAndBinaryGiveTheSameTime) {
  for (const Golden& golden : kGoldens) {
    if (golden.type_oid != kTimestamptzOid && golden.type_oid != kTimestampOid &&
        golden.type_oid != kDateOid) {
      continue;
    }
    const Reading reading(golden.type_oid);
    const std::string bytes = FromHex(golden.binary);
    const auto of_text = reading->Time(TextValue(golden.text));
    const auto of_binary = reading->Time(BinaryValue(bytes));
    ASSERT_THAT(of_text, IsOk()) << golden.text;
    ASSERT_THAT(of_binary, IsOk()) << golden.text;
    EXPECT_EQ(*of_text, *of_binary) << golden.text;
  }
  const auto time = Reading(kTimestamptzOid)->Time(TextValue("2026-03-01 10:34:56.123456+00"));
  EXPECT_EQ(*time, absl::FromUnixMicros(1772361296123456));
  EXPECT_EQ(*Reading(kDateOid)->Time(TextValue("infinity")), absl::InfiniteFuture());
  EXPECT_EQ(*Reading(kTimestampOid)->Time(TextValue("-infinity")), absl::InfinitePast());
}

TEST(Value, TextAndBinaryGiveTheSameNumber) {
  for (const Golden& golden : kGoldens) {
    if (golden.type_oid != kInt2Oid && golden.type_oid != kInt4Oid && golden.type_oid != kInt8Oid &&
        golden.type_oid != kOidOid) {
      continue;
    }
    const Reading reading(golden.type_oid);
    const std::string bytes = FromHex(golden.binary);
    const auto of_text = reading->Integer(TextValue(golden.text));
    const auto of_binary = reading->Integer(BinaryValue(bytes));
    ASSERT_THAT(of_text, IsOk());
    ASSERT_THAT(of_binary, IsOk());
    EXPECT_EQ(*of_text, *of_binary);
    EXPECT_EQ(std::to_string(*of_text), golden.text);
  }
}

TEST(Value, ReadsNumbersFromTextAndNumeric) {
  EXPECT_EQ(*Reading(kTextOid)->Integer(TextValue("-7")), -7);
  EXPECT_EQ(*Reading(kBpcharOid)->Integer(TextValue("7   ")), 7);
  EXPECT_EQ(*Reading(kNumericOid)->Integer(BinaryValue(FromHex("00010001000000000001"))), 10000);
  for (const char* text : {"", "1.5", "7x", " 7", "+7", "9223372036854775808"}) {
    EXPECT_THAT(Reading(kTextOid)->Integer(TextValue(text)),
                StatusIs(kInvalid, HasSubstr("whole number")))
        << text;
  }
  EXPECT_THAT(Reading(kBoolOid)->Integer(TextValue("t")),
              StatusIs(kInvalid, HasSubstr("isn't read as a number")));
}

TEST(Value, ATimestamptzOfAnotherZoneIsPrintedInUtc) {
  const Reading reading(kTimestamptzOid);
  EXPECT_EQ(*reading.Text(TextValue("2026-03-01 10:34:56+05:30")), "2026-03-01 05:04:56+00");
  EXPECT_EQ(*reading.Text(TextValue("2026-01-01 00:00:00.25-03")), "2026-01-01 03:00:00.25+00");
  EXPECT_EQ(*reading.Text(TextValue("1900-01-01 00:00:00+00:53:28")), "1899-12-31 23:06:32+00");
}

TEST(Value, MalformedTextIsRefusedAndNamed) {
  const struct {
    std::uint32_t oid;
    const char* text;
  } cases[] = {
      {kUuidOid, ""},
      {kUuidOid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"},
      {kUuidOid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g"},
      {kUuidOid, "a0eebc99x9c0b-4ef8-bb6d-6bb9bd380a11"},
      {kInt4Oid, ""},
      {kInt4Oid, "4x"},
      {kBoolOid, "true"},
      {kByteaOid, "00ff"},
      {kByteaOid, "\\x0"},
      {kByteaOid, "\\x0g"},
      {kTimestamptzOid, "2026-03-01 10:34:56"},
      {kTimestamptzOid, "2026-03-01T10:34:56+00"},
      {kTimestamptzOid, "2026-03-01 10:34:56+0"},
      {kTimestamptzOid, "2026-03-01 10:34:56+00 AD"},
      {kTimestamptzOid, "2026-02-29 10:34:56+00"},
      {kTimestamptzOid, "1900-02-29 10:34:56+00"},
      {kTimestamptzOid, "2026-13-01 10:34:56+00"},
      {kTimestamptzOid, "2026-03-01 24:00:00+00"},
      {kTimestamptzOid, "2026-03-01 10:34:56.+00"},
      {kTimestamptzOid, "2026-03-01 10:34:56.1234567+00"},
      {kTimestamptzOid, "9999999-03-01 10:34:56+00"},
      {kTimestamptzOid, "01/03/2026 10:34:56+00"},
      {kTimestampOid, "2026-03-01 10:34:56+00"},
      {kDateOid, "2026-03-00"},
      {kDateOid, "26-03-01"},
      {kDateOid, "9999999-01-01"},
      {kNumericOid, ""},
      {kNumericOid, "1."},
      {kNumericOid, ".5"},
      {kNumericOid, "1e5"},
      {kNumericOid, "--1"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Reading(c.oid).Text(TextValue(c.text)),
                StatusIs(kInvalid, AllOf(HasSubstr("column 'c' ("), HasSubstr(")"))))
        << c.oid << ": " << c.text;
  }
}

TEST(Value, EveryTruncationAndExtensionOfABinaryValueIsRefused) {
  for (const Golden& golden : kGoldens) {
    const TypeKind kind = KindOf(ColumnOf("c", golden.type_oid));
    if (IsFreeText(kind) || kind == TypeKind::kJson || kind == TypeKind::kBytea) continue;
    const Reading reading(golden.type_oid);
    const std::string bytes = FromHex(golden.binary);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      if (kind == TypeKind::kJsonb && size > 0) break;  // what follows is free text
      const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THAT(reading.Text(BinaryValue({cut.data(), cut.size()})),
                  StatusIs(kInvalid, HasSubstr("column 'c' (")))
          << golden.text << " cut to " << size;
    }
    if (kind != TypeKind::kJsonb) {
      EXPECT_THAT(reading.Text(BinaryValue(bytes + '\0')), StatusIs(kInvalid, HasSubstr("form")))
          << golden.text;
    }
  }
}

TEST(Value, NoByteOfABinaryNumericOrArrayCanDoHarm) {
  for (const Golden& golden : kGoldens) {
    if (golden.type_oid != kNumericOid && golden.type_oid != kTextArrayOid) continue;
    const Reading reading(golden.type_oid);
    const std::string bytes = FromHex(golden.binary);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int flip : {0x01, 0x10, 0x7f, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        const auto text = reading.Text(BinaryValue(changed));
        EXPECT_TRUE(text.ok() || text.status().code() == kInvalid) << text.status();
      }
    }
  }
}

TEST(Value, MalformedBinaryIsRefused) {
  const struct {
    std::uint32_t oid;
    const char* hex;
  } cases[] = {
      {kBoolOid, "02"},
      {kJsonbOid, "027b7d"},                        // an unknown version
      {kNumericOid, "00010000000000002710"},        // a digit of 10000
      {kNumericOid, "00010000123400000001"},        // no such sign
      {kNumericOid, "0001000000004fff0001"},        // more decimals than there can be
      {kNumericOid, "ffff000000000000"},            // fewer than no digits
      {kNumericOid, "00010000c00000000001"},        // NaN with a digit
      {kTextArrayOid, "000000070000000000000019"},  // seven dimensions
      {kTextArrayOid, "000000010000000000000017000000010000000100000001"},  // of integers
      {kTextArrayOid, "0000000100000000000000190000000000000001"},          // an empty dimension
      {kTextArrayOid, "0000000100000000000000197fffffff0000000100000001"},  // two thousand million
      {kTextArrayOid, "0000000100000000000000190000000100000001fffffffe"},  // of length -2
      {kTextArrayOid, "000000010000000000000019000000010000000100000001ff"},  // not UTF-8
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Reading(c.oid).Text(BinaryValue(FromHex(c.hex))),
                StatusIs(kInvalid, HasSubstr("column 'c' (")))
        << c.oid << ": " << c.hex;
  }
}

TEST(Value, TextMustBeUtf8) {
  for (const std::uint32_t oid : {kTextOid, kVarcharOid, kBpcharOid, kJsonOid, kEnumOid}) {
    for (const auto value : {TextValue("a\xff"), BinaryValue("a\xff")}) {
      EXPECT_THAT(Reading(oid).Text(value), StatusIs(kInvalid, HasSubstr("isn't valid UTF-8")));
    }
  }
  EXPECT_THAT(Reading(kJsonbOid).Text(BinaryValue("\x01\xff")),
              StatusIs(kInvalid, HasSubstr("column 'c' (jsonb) isn't valid UTF-8")));
}

TEST(Value, DomainsCountAsTheirBaseType) {
  const Reading id(ColumnOf("c", 20000, "", "uuid"));
  EXPECT_EQ(*id.Text(BinaryValue(FromHex("a0eebc999c0b4ef8bb6d6bb9bd380a11"))),
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
  const Reading amount(ColumnOf("c", 20001, "", "numeric"));
  EXPECT_EQ(*amount.Text(BinaryValue(FromHex("000200000000000200011388"))), "1.50");
  EXPECT_EQ(KindOf(ColumnOf("c", 20002, "", "inet")), TypeKind::kUnsupported);
}

TEST(Value, CitextIsTextOfAnyLength) {
  const Reading reading(ColumnOf("c", 20000, "public", "citext"));
  const std::string text(1000, 'A');
  EXPECT_EQ(*reading.Text(BinaryValue(text)), text);
}

TEST(Value, OtherTypesOfTheUsersAreReadAsLabelsAndNothingElse) {
  const Reading reading(ColumnOf("c", 20000, "shop", "pair"));
  // record_send(ROW(1, 'x'))
  EXPECT_THAT(
      reading.Text(BinaryValue(FromHex("00000002000000170000000400000001000000190000000178"))),
      StatusIs(kInvalid, HasSubstr("column 'c' (shop.pair) comes in a binary form")));
  EXPECT_THAT(reading.Text(BinaryValue(std::string(64, 'x'))),
              StatusIs(kInvalid, HasSubstr("binary form")));
  EXPECT_EQ(*reading.Text(BinaryValue(std::string(63, 'x'))), std::string(63, 'x'));
}

TEST(Value, ABuiltInTypeThatIsNotReadIsRefusedInBothForms) {
  for (const auto value : {TextValue("(1,2)"), BinaryValue("1234567812345678")}) {
    EXPECT_THAT(
        Reading(kPointOid).Text(value),
        StatusIs(kInvalid, HasSubstr("column 'c' (oid 600) is of a type that can't be read")));
  }
}

TEST(Value, NullAndUnchangedAreNotValues) {
  const Reading reading(kTextOid);
  EXPECT_THAT(reading.Text({}), StatusIs(kInvalid, HasSubstr("column 'c' (text) is null")));
  EXPECT_THAT(reading.Payload({capture::Value::Kind::kUnchanged, {}}),
              StatusIs(kInvalid, HasSubstr("came without a value")));
  EXPECT_THAT(Reading(kInt4Oid)->Integer({}), StatusIs(kInvalid, HasSubstr("is null")));
  EXPECT_THAT(Reading(kDateOid)->Time({}), StatusIs(kInvalid, HasSubstr("is null")));
}

TEST(Value, AByteAboveAsciiInCharIsPrintedInOctal) {
  EXPECT_EQ(*Reading(kByteCharOid).Text(BinaryValue("\xe4")), "\\344");
}

}  // namespace
}  // namespace walpost::outbox
