#include "sink/file/json_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace walpost::sink::file {
namespace {

using nlohmann::json;
using outbox::MessageHeader;

class JsonLineTest : public ::testing::Test {
 protected:
  // The line, which must be one and must parse.
  json Line() {
    message_.headers = headers_;
    std::string out = "before|";
    AppendJsonLine(message_, out);
    EXPECT_EQ(out.find('\n'), out.size() - 1) << out;
    EXPECT_TRUE(out.starts_with("before|"));
    return json::parse(out.substr(7));
  }

  json ValueAs(std::string_view content_type, std::string_view value) {
    headers_ = {{"id", "e1"}, {"content-type", content_type}};
    message_.value = value;
    return Line()["value"];
  }

  std::vector<MessageHeader> headers_;
  outbox::Message message_ = {.topic = "orders",
                              .key = "17",
                              .value = "x",
                              .headers = {},
                              .timestamp = absl::FromUnixMicros(1'700'000'000'123'456)};
};

TEST_F(JsonLineTest, HasAllParts) {
  headers_ = {{"id", "e1"}};
  const json line = Line();
  EXPECT_EQ(line["topic"], "orders");
  EXPECT_EQ(line["key"], "17");
  EXPECT_EQ(line["timestamp"], "2023-11-14T22:13:20.123456+00:00");
  EXPECT_EQ(line["headers"], json({{"id", "e1"}}));
  EXPECT_EQ(line["value"], json({{"base64", "eA=="}}));
}

TEST_F(JsonLineTest, NoKeyAndATombstoneAreNull) {
  message_.key.reset();
  message_.value.reset();
  const json line = Line();
  EXPECT_TRUE(line["key"].is_null());
  EXPECT_TRUE(line["value"].is_null());
}

TEST_F(JsonLineTest, EmptyIsNotNull) {
  message_.key = "";
  message_.value = "";
  const json line = Line();
  EXPECT_EQ(line["key"], "");
  EXPECT_EQ(line["value"], json({{"base64", ""}}));
}

// A line break in a row's text would forge a second line.
TEST_F(JsonLineTest, ControlCharactersAreEscaped) {
  for (int c = 0; c < 0x80; ++c) {
    const std::string text = {'a', static_cast<char>(c), 'b'};
    message_.key = text;
    headers_ = {{text, text}};
    const json line = Line();
    EXPECT_EQ(line["key"], text) << c;
    EXPECT_EQ(line["headers"][text], text) << c;
  }
}

TEST_F(JsonLineTest, BytesThatAreNoTextAreBase64) {
  message_.key = "\xff\x01";
  headers_ = {{"h", "\xfe"}, {"\xfd", "v"}};
  const json line = Line();
  EXPECT_EQ(line["key"], json({{"base64", "/wE="}}));
  EXPECT_EQ(line["headers"]["h"], json({{"base64", "/g=="}}));
  EXPECT_EQ(line["headers"]["base64:/Q=="], "v");
}

TEST_F(JsonLineTest, ARepeatedHeaderIsAnArrayInItsOrder) {
  headers_ = {{"a", "1"}, {"b", "2"}, {"a", "3"}, {"a", "4"}};
  EXPECT_EQ(Line()["headers"], json::parse(R"({"a": ["1", "3", "4"], "b": "2"})"));
}

TEST_F(JsonLineTest, AJsonValueIsEmbedded) {
  EXPECT_EQ(ValueAs("application/json", R"({"a": [1, 2]})"), json::parse(R"({"a": [1, 2]})"));
  EXPECT_EQ(ValueAs("Application/JSON; charset=utf-8", "null"), json());
  EXPECT_EQ(ValueAs("application/cloudevents+json", "7"), 7);
}

TEST_F(JsonLineTest, AJsonValueThatWouldBreakTheLineIsAString) {
  for (const char* value : {"{\n\"a\": 1}", "{\"a\": 1}\r", "{\"a\": ", "", "1 2", "{\"a\":\n"}) {
    EXPECT_EQ(ValueAs("application/json", value), value);
  }
  EXPECT_EQ(ValueAs("application/json", "\"\xff\""), json({{"base64", "Iv8i"}}));
}

TEST_F(JsonLineTest, TextIsAString) {
  EXPECT_EQ(ValueAs("text/plain", "a\"b\nc"), "a\"b\nc");
  EXPECT_EQ(ValueAs("text/csv", "\xff"), json({{"base64", "/w=="}}));
}

TEST_F(JsonLineTest, AnEnvelopeIsItsCanonicalJson) {
  const std::string envelope = "\n\2e1";  // event_id = "e1"
  EXPECT_EQ(ValueAs("application/x-protobuf", envelope)["eventId"], "e1");
  EXPECT_EQ(ValueAs("application/protobuf", envelope)["eventId"], "e1");
}

TEST_F(JsonLineTest, ProtobufThatIsNoEnvelopeIsBase64) {
  EXPECT_EQ(ValueAs("application/protobuf", "\xff\xff"), json({{"base64", "//8="}}));
}

// Catches: a payload of somebody else's protobuf that parses as an envelope without fields.
TEST_F(JsonLineTest, AForeignMessageThatParsesIsBase64) {
  EXPECT_EQ(ValueAs("application/x-protobuf", "\x08\x96\x01\x10\x07"),
            json({{"base64", "CJYBEAc="}}));
}

}  // namespace
}  // namespace walpost::sink::file
