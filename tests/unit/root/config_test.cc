#include "config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "status_is.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using ::testing::Pair;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    With("source.table", "public.outbox");
    With("sink.type", "null");
  }
  void With(const std::string& key, const std::string& value) {
    sources_.flags.push_back({key, value, "flag"});
  }
  absl::StatusOr<Config> Load(ConfigScope scope = ConfigScope::kRelay) {
    return LoadConfig(sources_, scope);
  }
  Config Loaded() {
    absl::StatusOr<Config> config = Load();
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *std::move(config) : Config(Settings(AllKeys()));
  }
  // The refusal of one value on top of a sound configuration.
  absl::Status Refusal(const std::string& key, const std::string& value) {
    ConfigSources sources = sources_;
    sources.flags.push_back({key, value, "flag"});
    const absl::Status status = LoadConfig(sources).status();
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kConfiguration) << status;
    EXPECT_EQ(MessageOf(status).find('\n'), std::string_view::npos) << status;
    return status;
  }

  ConfigSources sources_;
};

TEST_F(ConfigTest, ATableAndASinkAreEnough) {
  const Config config = Loaded();
  EXPECT_EQ(config.dsn, "");
  EXPECT_EQ(config.slot, "walpost");
  EXPECT_EQ(config.publication, "walpost");
  EXPECT_THAT(config.tables, ElementsAre(capture::TableName{"public", "outbox"}));
  EXPECT_EQ(config.routing.topic, "outbox.event.{aggregate_type}");
  EXPECT_EQ(config.routing.key, "aggregate_id");
  EXPECT_EQ(config.format, outbox::ValueFormat::kEnvelope);
  EXPECT_EQ(config.sink_type, "null");
  EXPECT_EQ(config.drain_timeout, absl::Seconds(25));
  EXPECT_EQ(config.max_inflight_messages, 10'000U);
  EXPECT_EQ(config.max_inflight_bytes, 16U << 20);
  EXPECT_EQ(config.admin_listen, "127.0.0.1:7480");
  EXPECT_EQ(config.log_level, log::Level::kInfo);
  EXPECT_EQ(config.log_format, log::Format::kAuto);
}

TEST_F(ConfigTest, EveryChoiceArrives) {
  With("routing.null_key", "reject");
  With("routing.key_encoding", "binary");
  With("routing.timestamp", "occurred_at");
  With("routing.headers", R"({ kind = "event_type" })");
  With("routing.header_allowlist", R"(["x-.*"])");
  With("format.value", "payload");
  With("log.level", "debug");
  With("log.format", "json");
  With("admin.listen", "");
  With("source.values.event_type.0", "CREATED");
  With("source.values.event_type.a.b", "UPDATED");
  With("source.columns.aggregate_id", "message_id");
  With("source.constants.aggregate_type", "order");
  const Config config = Loaded();
  EXPECT_EQ(config.routing.null_key, outbox::NullKey::kReject);
  EXPECT_EQ(config.routing.key_encoding, outbox::KeyEncoding::kBinary);
  EXPECT_EQ(config.routing.timestamp, outbox::RecordTime::kOccurredAt);
  EXPECT_THAT(config.routing.headers, ElementsAre(Pair("kind", "event_type")));
  EXPECT_THAT(config.routing.header_allowlist, ElementsAre("x-.*"));
  EXPECT_EQ(config.format, outbox::ValueFormat::kPayload);
  EXPECT_EQ(config.log_level, log::Level::kDebug);
  EXPECT_EQ(config.log_format, log::Format::kJson);
  EXPECT_EQ(config.admin_listen, "");
  EXPECT_THAT(config.mapping.columns, ElementsAre(Pair("aggregate_id", "message_id")));
  EXPECT_THAT(config.mapping.constants, ElementsAre(Pair("aggregate_type", "order")));
  EXPECT_THAT(config.mapping.values.at("event_type"),
              ElementsAre(Pair("0", "CREATED"), Pair("a.b", "UPDATED")));
}

TEST_F(ConfigTest, TablesTakeTheSchemaPublicWhereNoneIsNamed) {
  With("source.table", R"(["outbox", "events.outbox", "Odd Schema.Täble", "a.\"b.\"\"c\""])");
  EXPECT_THAT(
      Loaded().tables,
      ElementsAre(capture::TableName{"public", "outbox"}, capture::TableName{"events", "outbox"},
                  capture::TableName{"Odd Schema", "Täble"}, capture::TableName{"a", "b.\"c"}));
}

TEST_F(ConfigTest, TableNamesAreChecked) {
  for (const std::string& name : std::vector<std::string>{"", ".", "a.", ".b", "a.b.c", "\"a",
                                                          "\"a\"b", std::string(64, 'x')}) {
    EXPECT_THAT(
        Refusal("source.table", name),
        StatusIs(kInvalid, HasSubstr("source.table (flag): '" + name + "' is no table name")));
  }
  EXPECT_THAT(Refusal("source.table", R"(["a", "public.a"])"),
              StatusIs(kInvalid, HasSubstr("names 'public.a' twice")));
  EXPECT_THAT(Refusal("source.table", "[]"),
              StatusIs(kInvalid, HasSubstr("source.table (flag): is not set")));
}

TEST_F(ConfigTest, SlotNamesAreThoseOfPostgres) {
  for (const std::string& name :
       std::vector<std::string>{"a", "orders_2", "0", "_", std::string(63, 'x')}) {
    With("source.slot", name);
    EXPECT_EQ(Loaded().slot, name);
  }
  for (const std::string& name : std::vector<std::string>{"", "Orders", "a-b", "a b", "a'b",
                                                          "sl\xC3\xB6t", std::string(64, 'x')}) {
    EXPECT_THAT(Refusal("source.slot", name), StatusIs(kInvalid, HasSubstr("is no slot name")))
        << name;
  }
}

TEST_F(ConfigTest, EveryMistakeNamesKeyOriginAndFix) {
  struct Case {
    const char* key;
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {"source.dsn", "host=a b", "source.dsn (flag): is not a connection string or URI"},
      {"source.publication", "", "source.publication (flag): has to be a name"},
      {"source.values.event_type", "x", "source.values (flag): 'event_type' has to be a table"},
      {"routing.null_key", "drop", "'drop' is none of \"warn\", \"reject\""},
      {"routing.key_encoding", "hex", "none of \"text\", \"json\", \"binary\""},
      {"routing.timestamp", "now", "none of \"commit\", \"occurred_at\""},
      {"routing.allowed_topics", "(", "routing.allowed_topics (flag)"},
      {"routing.topic", "{nothing}", "routing.topic (flag)"},
      {"format.value", "avro", "none of \"envelope\", \"envelope_json\", \"payload\""},
      {"sink.type", "pulsar", "sink.type (flag): 'pulsar' is none of "},
      {"delivery.on_poison", "skip",
       "delivery.on_poison (flag): 'skip' is none of \"stop\", \"dead_letter\""},
      {"delivery.drain_timeout", "0s", "has to be longer than zero"},
      {"delivery.max_inflight_messages", "0", "has to lie between 1 and 1000000"},
      {"delivery.max_inflight_messages", "1000001", "has to lie between 1 and 1000000"},
      {"delivery.max_inflight_bytes", "0", "has to be more than zero"},
      {"admin.listen", "7480", "admin.listen (flag): '7480' is not HOST:PORT"},
      {"admin.listen", "127.0.0.1:http", "is not HOST:PORT"},
      {"log.level", "trace", "none of \"debug\", \"info\", \"warning\", \"error\""},
      {"log.format", "xml", "none of \"auto\", \"logfmt\", \"json\""},
      {"delivery.dead_letter_topic", "a b", "delivery.dead_letter_topic (flag): has to be a topic"},
      {"source.tabel", "x", "did you mean 'source.table'?"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Refusal(c.key, c.value), StatusIs(kInvalid, HasSubstr(c.message))) << c.key;
  }
}

TEST_F(ConfigTest, FaultsFoundByTheMappingNameTheirOrigin) {
  EXPECT_THAT(Refusal("source.columns.colour", "x"),
              StatusIs(kInvalid, AllOf(HasSubstr("source.columns"), HasSubstr("(flag)"),
                                       HasSubstr("colour"))));
}

TEST_F(ConfigTest, TheSinkChecksItsOwnKeys) {
  EXPECT_THAT(Refusal("sink.type", "kafka"), StatusIs(kInvalid, HasSubstr("kafka.brokers")));
}

TEST_F(ConfigTest, VerbsThatTouchOnlyPostgresNeedNoSink) {
  With("sink.type", "kafka");
  EXPECT_THAT(Load(ConfigScope::kSource), IsOk());
  With("source.slot", "Bad Name");
  EXPECT_THAT(Load(ConfigScope::kSource), StatusIs(kInvalid, HasSubstr("is no slot name")));
}

TEST_F(ConfigTest, ConnectionFlagsAreLaidOverTheDsn) {
  With("source.dsn", "host=a dbname=app");
  sources_.connection = {"", "b", "", ""};
  EXPECT_EQ(Loaded().dsn, "host=a dbname=app host='b'");
}

TEST_F(ConfigTest, ABrokenDsnIsRefusedWithoutRepeatingIt) {
  sources_.environment["WALPOST_SOURCE__DSN"] = "hots=a password=S3CR3T-CANARY";
  EXPECT_THAT(Load(), StatusIs(kInvalid, AllOf(HasSubstr("source.dsn (WALPOST_SOURCE__DSN)"),
                                               Not(HasSubstr("CANARY")))));
}

TEST_F(ConfigTest, EveryKeyIsDeclaredOnceWithHelpAndAName) {
  std::set<std::string_view> names;
  for (const KeySpec& key : AllKeys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_EQ(std::count(key.name.begin(), key.name.end(), '.'), 1) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
  }
}

// The example in the root of the repository: it has to load, and to show what the defaults are.
TEST(ExampleConfigTest, LoadsAndShowsTheDefaults) {
  const char* root = std::getenv("WALPOST_SOURCE_ROOT");
  ASSERT_NE(root, nullptr);
  ConfigSources sources;
  sources.file = std::string(root) + "/walpost.example.toml";
  const absl::StatusOr<Config> config = LoadConfig(sources);
  ASSERT_THAT(config, IsOk());
  const std::set<std::string_view> not_the_default = {"source.dsn", "source.table",
                                                      "routing.allowed_topics", "kafka.brokers"};
  const Settings defaults(AllKeys());
  for (const KeySpec& key : AllKeys()) {
    if (not_the_default.count(key.name) != 0) {
      EXPECT_TRUE(config->settings.IsSet(key.name)) << key.name;
    } else if (key.type == KeyType::kString) {
      EXPECT_EQ(config->settings.GetString(key.name), defaults.GetString(key.name)) << key.name;
    } else if (key.type == KeyType::kInteger) {
      EXPECT_EQ(config->settings.GetInteger(key.name), defaults.GetInteger(key.name)) << key.name;
    } else if (key.type == KeyType::kBytes) {
      EXPECT_EQ(config->settings.GetBytes(key.name), defaults.GetBytes(key.name)) << key.name;
    } else if (key.type == KeyType::kDuration) {
      EXPECT_EQ(config->settings.GetDuration(key.name), defaults.GetDuration(key.name)) << key.name;
    } else if (key.type == KeyType::kTable) {
      EXPECT_THAT(config->settings.GetTable(key.name), IsEmpty()) << key.name;
    }
  }
}

}  // namespace
}  // namespace walpost
