#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/status.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

std::vector<KeySpec> Specs() {
  return {
      {"source.slot", KeyType::kString, "walpost", "slot"},
      {"source.dsn", KeyType::kString, "", "connection", {}, true},
      {"kafka.brokers", KeyType::kStringList, "", "brokers"},
      {"kafka.profile", KeyType::kString, "balanced", "profile", {"balanced", "latency"}},
      {"kafka.properties", KeyType::kTable, "", "raw keys"},
      {"kafka.create_topics", KeyType::kBool, "false", "create"},
      {"delivery.window", KeyType::kInteger, "100", "messages"},
      {"delivery.drain_timeout", KeyType::kDuration, "25s", "time"},
      {"delivery.bytes", KeyType::kBytes, "16MiB", "size"},
  };
}

class SettingsTest : public ::testing::Test {
 protected:
  // The message of a refused value; every refusal is a configuration error.
  std::string Refusal(std::string_view name, std::string_view value) {
    const absl::Status status = settings_.Set(name, value, "here");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kConfiguration);
    return std::string(MessageOf(status));
  }
  void Accept(std::string_view name, std::string_view value) {
    EXPECT_EQ(settings_.Set(name, value, "here"), absl::OkStatus()) << value;
  }

  Settings settings_{Specs()};
};

TEST_F(SettingsTest, DefaultsApplyUntilSomethingIsSet) {
  EXPECT_EQ(settings_.GetString("source.slot"), "walpost");
  EXPECT_THAT(settings_.GetList("kafka.brokers"), IsEmpty());
  EXPECT_THAT(settings_.GetTable("kafka.properties"), IsEmpty());
  EXPECT_FALSE(settings_.GetBool("kafka.create_topics"));
  EXPECT_EQ(settings_.GetInteger("delivery.window"), 100);
  EXPECT_EQ(settings_.GetDuration("delivery.drain_timeout"), absl::Seconds(25));
  EXPECT_EQ(settings_.GetBytes("delivery.bytes"), 16U << 20);
  EXPECT_FALSE(settings_.IsSet("source.slot"));
  EXPECT_EQ(settings_.OriginOf("source.slot"), "default");
}

TEST_F(SettingsTest, ALaterValueWinsAndBringsItsOrigin) {
  EXPECT_TRUE(settings_.Set("source.slot", "a", "walpost.toml line 3").ok());
  EXPECT_TRUE(settings_.Set("source.slot", "b", "--set").ok());
  EXPECT_EQ(settings_.GetString("source.slot"), "b");
  EXPECT_TRUE(settings_.IsSet("source.slot"));
  EXPECT_EQ(settings_.OriginOf("source.slot"), "--set");
  EXPECT_EQ(MessageOf(settings_.Fault("source.slot", "is taken")), "source.slot (--set): is taken");
}

TEST_F(SettingsTest, ARefusedValueChangesNothing) {
  Refusal("delivery.window", "many");
  EXPECT_EQ(settings_.GetInteger("delivery.window"), 100);
  EXPECT_FALSE(settings_.IsSet("delivery.window"));
}

TEST_F(SettingsTest, IntegersAreWholeNumbers) {
  Accept("delivery.window", "-5");
  EXPECT_EQ(settings_.GetInteger("delivery.window"), -5);
  for (const char* text : {"", "1.5", "ten", "1e3", "9223372036854775808"}) {
    EXPECT_THAT(Refusal("delivery.window", text), HasSubstr("is not a whole number"));
  }
}

TEST_F(SettingsTest, BooleansAreTrueOrFalse) {
  Accept("kafka.create_topics", "true");
  EXPECT_TRUE(settings_.GetBool("kafka.create_topics"));
  for (const char* text : {"", "yes", "1", "TRUE"}) {
    EXPECT_THAT(Refusal("kafka.create_topics", text), HasSubstr("neither true nor false"));
  }
}

TEST_F(SettingsTest, DurationsHaveAUnitAndAnEnd) {
  Accept("delivery.drain_timeout", "250ms");
  EXPECT_EQ(settings_.GetDuration("delivery.drain_timeout"), absl::Milliseconds(250));
  Accept("delivery.drain_timeout", "1h30m");
  EXPECT_EQ(settings_.GetDuration("delivery.drain_timeout"), absl::Minutes(90));
  for (const char* text : {"", "25", "25 s", "-1s", "inf", "soon"}) {
    EXPECT_THAT(Refusal("delivery.drain_timeout", text), HasSubstr("is not a duration"));
  }
}

TEST_F(SettingsTest, SizesTakeDecimalAndBinaryUnits) {
  struct Case {
    const char* text;
    std::uint64_t bytes;
  };
  const Case cases[] = {{"0", 0},
                        {"7", 7},
                        {"7B", 7},
                        {"2kB", 2'000},
                        {"2KB", 2'000},
                        {"2KiB", 2'048},
                        {"3MB", 3'000'000},
                        {"3 MiB", 3U << 20},
                        {"1GB", 1'000'000'000},
                        {"1GiB", 1U << 30},
                        {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()}};
  for (const Case& c : cases) {
    Accept("delivery.bytes", c.text);
    EXPECT_EQ(settings_.GetBytes("delivery.bytes"), c.bytes) << c.text;
  }
  for (const char* text : {"", "MiB", "-1", "1.5MiB", "16mib", "16 M iB", "18446744073709551616",
                           "18446744073709551615KiB"}) {
    EXPECT_THAT(Refusal("delivery.bytes", text), HasSubstr("is not a size"));
  }
}

TEST_F(SettingsTest, ChoicesAreListedInTheRefusal) {
  Accept("kafka.profile", "latency");
  EXPECT_EQ(Refusal("kafka.profile", "fast"),
            "kafka.profile (here): 'fast' is none of \"balanced\", \"latency\"");
}

TEST_F(SettingsTest, AListMayBeOneString) {
  Accept("kafka.brokers", "k1:9092");
  EXPECT_THAT(settings_.GetList("kafka.brokers"), ElementsAre("k1:9092"));
  EXPECT_TRUE(settings_.SetList("kafka.brokers", {"a", "b"}, "here").ok());
  EXPECT_THAT(settings_.GetList("kafka.brokers"), ElementsAre("a", "b"));
  EXPECT_TRUE(settings_.SetList("kafka.brokers", {}, "here").ok());
  EXPECT_THAT(settings_.GetList("kafka.brokers"), IsEmpty());
}

TEST_F(SettingsTest, AListForASingleValueIsRefused) {
  const absl::Status status = settings_.SetList("source.slot", {"a", "b"}, "here");
  EXPECT_EQ(MessageOf(status), "source.slot (here): takes one value, not a list");
}

TEST_F(SettingsTest, TablesAreMergedEntryByEntry) {
  EXPECT_TRUE(settings_.SetTableEntry("kafka.properties", "linger.ms", "5", "file").ok());
  EXPECT_TRUE(settings_.SetTableEntry("kafka.properties", "acks", "all", "file").ok());
  EXPECT_TRUE(settings_.SetTableEntry("kafka.properties", "linger.ms", "0", "--set").ok());
  EXPECT_THAT(settings_.GetTable("kafka.properties"),
              ElementsAre(Pair("acks", "all"), Pair("linger.ms", "0")));
  EXPECT_THAT(Refusal("kafka.properties", "x"),
              HasSubstr("is a table; set kafka.properties.<name>"));
  EXPECT_THAT(MessageOf(settings_.SetTableEntry("source.slot", "a", "b", "here")),
              HasSubstr("unknown key"));
}

TEST_F(SettingsTest, ASecretIsNeverRepeated) {
  std::vector<KeySpec> specs = {{"a.pin", KeyType::kInteger, "0", "pin", {}, true}};
  Settings settings(specs);
  const absl::Status status = settings.Set("a.pin", "S3CR3T-CANARY", "here");
  EXPECT_THAT(MessageOf(status), HasSubstr("a.pin (here): the value is not a whole number"));
  EXPECT_THAT(MessageOf(status), Not(HasSubstr("CANARY")));
}

TEST_F(SettingsTest, AnUnknownKeyComesWithItsNearestNeighbour) {
  struct Case {
    const char* given;
    const char* meant;
  };
  const Case cases[] = {
      {"kafka.broker", "kafka.brokers"},            // a letter short
      {"kafka.borkers", "kafka.brokers"},           // two letters swapped
      {"kafka.brokersss", "kafka.brokers"},         // too many
      {"Kafka.brokers", "kafka.brokers"},           // case
      {"source.brokers", "kafka.brokers"},          // wrong section
      {"drain_timeout", "delivery.drain_timeout"},  // no section
      {"delivery.draintimeout", "delivery.drain_timeout"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Refusal(c.given, "x"),
              "unknown key '" + std::string(c.given) + "' (here), did you mean '" + c.meant + "'?");
  }
}

TEST_F(SettingsTest, AFarAwayKeyGetsNoGuess) {
  for (const char* given : {"kafka.compression", "x", "", "source.xyz"}) {
    EXPECT_THAT(Refusal(given, "x"), Not(HasSubstr("did you mean"))) << given;
  }
}

TEST_F(SettingsTest, AnUnknownSectionComesWithItsNearestNeighbour) {
  EXPECT_EQ(MessageOf(settings_.UnknownSection("kafak", "line 1")),
            "unknown section [kafak] (line 1), did you mean [kafka]?");
  EXPECT_EQ(MessageOf(settings_.UnknownSection("kafka.propertys", "line 1")),
            "unknown section [kafka.propertys] (line 1), did you mean [kafka.properties]?");
  EXPECT_EQ(MessageOf(settings_.UnknownSection("elephant", "line 1")),
            "unknown section [elephant] (line 1)");
}

using SettingsDeathTest = SettingsTest;

TEST_F(SettingsDeathTest, AskingForAnUndeclaredKeyOrTheWrongTypeIsABug) {
  EXPECT_DEATH(settings_.GetString("source.sloth"), "check failed");
  EXPECT_DEATH(settings_.GetInteger("source.slot"), "check failed");
  EXPECT_DEATH(Settings({{"a.b", KeyType::kInteger, "ten", "x"}}), "check failed");
  EXPECT_DEATH(Settings({{"a.b", KeyType::kString, "", "x"}, {"a.b", KeyType::kString, "", "y"}}),
               "check failed");
}

}  // namespace
}  // namespace walpost
