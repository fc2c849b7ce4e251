#include "config_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/status.h"
#include "status_is.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<KeySpec> Specs() {
  return {
      {"source.slot", KeyType::kString, "walpost", "slot"},
      {"source.dsn", KeyType::kString, "", "connection", {}, true},
      {"source.table", KeyType::kStringList, "", "tables"},
      {"source.columns", KeyType::kTable, "", "columns"},
      {"source.values", KeyType::kTable, "", "values"},
      {"kafka.create_topics", KeyType::kBool, "false", "create"},
      {"kafka.properties", KeyType::kTable, "", "raw keys"},
      {"delivery.window", KeyType::kInteger, "100", "messages"},
      {"delivery.bytes", KeyType::kBytes, "1kB", "size"},
      {"delivery.drain_timeout", KeyType::kDuration, "25s", "time"},
  };
}

class ConfigLoaderTest : public ::testing::Test {
 protected:
  // What the file says. Lines are counted from 1.
  void File(const std::string& content) {
    path_ = ::testing::TempDir() + "walpost_loader_test.toml";
    std::ofstream(path_, std::ios::binary) << content;
  }
  void Variable(const std::string& name, const std::string& value) { environment_[name] = value; }
  void Flagged(const std::string& key, const std::string& value,
               const std::string& origin = "--set") {
    flags_.push_back({key, value, origin});
  }

  absl::StatusOr<Settings> Load() { return LoadSettings(Specs(), path_, environment_, flags_); }
  Settings Loaded() {
    absl::StatusOr<Settings> settings = Load();
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.ok() ? *std::move(settings) : Settings(Specs());
  }
  // Every refusal ends the process with 78.
  absl::Status Refusal() {
    const absl::Status status = Load().status();
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kConfiguration) << status;
    return status;
  }

  std::string path_;
  Environment environment_;
  std::vector<Flag> flags_;
};

TEST_F(ConfigLoaderTest, NothingGivenIsAllDefaults) {
  EXPECT_EQ(Loaded().GetString("source.slot"), "walpost");
}

TEST_F(ConfigLoaderTest, ReadsEveryKindOfValue) {
  File(R"(
[source]
slot = "orders"
table = ["public.outbox", "events.outbox"]
columns = { event_type = "kind" }
[source.values.event_type]
"0" = "CREATED"
"1" = "UPDATED"
[kafka]
create_topics = true
[kafka.properties]
"compression.type" = "lz4"
linger.ms = 5
socket.keepalive.enable = true
[delivery]
window = 5_000
bytes = 4096
drain_timeout = "30s"
)");
  const Settings settings = Loaded();
  EXPECT_EQ(settings.GetString("source.slot"), "orders");
  EXPECT_THAT(settings.GetList("source.table"), ElementsAre("public.outbox", "events.outbox"));
  EXPECT_THAT(settings.GetTable("source.columns"), ElementsAre(Pair("event_type", "kind")));
  EXPECT_THAT(settings.GetTable("source.values"),
              ElementsAre(Pair("event_type.0", "CREATED"), Pair("event_type.1", "UPDATED")));
  EXPECT_TRUE(settings.GetBool("kafka.create_topics"));
  EXPECT_THAT(settings.GetTable("kafka.properties"),
              ElementsAre(Pair("compression.type", "lz4"), Pair("linger.ms", "5"),
                          Pair("socket.keepalive.enable", "true")));
  EXPECT_EQ(settings.GetInteger("delivery.window"), 5000);
  EXPECT_EQ(settings.GetBytes("delivery.bytes"), 4096U);
  EXPECT_EQ(settings.GetDuration("delivery.drain_timeout"), absl::Seconds(30));
  EXPECT_EQ(settings.OriginOf("source.slot"), path_ + " line 3");
}

TEST_F(ConfigLoaderTest, FlagGoesBeforeEnvironmentBeforeFileBeforeDefault) {
  File("[source]\nslot = \"file\"\n");
  EXPECT_EQ(Loaded().GetString("source.slot"), "file");
  Variable("WALPOST_SOURCE__SLOT", "environment");
  EXPECT_EQ(Loaded().GetString("source.slot"), "environment");
  EXPECT_EQ(Loaded().OriginOf("source.slot"), "WALPOST_SOURCE__SLOT");
  Flagged("source.slot", "first");
  Flagged("source.slot", "last");
  EXPECT_EQ(Loaded().GetString("source.slot"), "last");
}

TEST_F(ConfigLoaderTest, TablesOfAllSourcesAreMerged) {
  File("[kafka.properties]\n\"a\" = \"file\"\n\"b\" = \"file\"\n\"c\" = \"file\"\n");
  Variable("WALPOST_KAFKA__PROPERTIES__B", "environment");
  Flagged("kafka.properties.c", "flag");
  Flagged("kafka.properties.linger.ms", "7");
  EXPECT_THAT(Loaded().GetTable("kafka.properties"),
              ElementsAre(Pair("a", "file"), Pair("b", "environment"), Pair("c", "flag"),
                          Pair("linger.ms", "7")));
}

TEST_F(ConfigLoaderTest, ListsAndTablesOutsideOfTheFileAreWrittenAsInIt) {
  Variable("WALPOST_SOURCE__TABLE", R"(["a.b", "c.d"])");
  Variable("WALPOST_KAFKA__PROPERTIES", R"({ "compression.type" = "lz4", linger.ms = 5 })");
  Variable("WALPOST_SOURCE__VALUES__EVENT_TYPE__0", "CREATED");
  Flagged("source.columns", R"({event_type = "kind"})");
  const Settings settings = Loaded();
  EXPECT_THAT(settings.GetList("source.table"), ElementsAre("a.b", "c.d"));
  EXPECT_THAT(settings.GetTable("kafka.properties"),
              ElementsAre(Pair("compression.type", "lz4"), Pair("linger.ms", "5")));
  EXPECT_THAT(settings.GetTable("source.values"), ElementsAre(Pair("event_type.0", "CREATED")));
  EXPECT_THAT(settings.GetTable("source.columns"), ElementsAre(Pair("event_type", "kind")));
}

TEST_F(ConfigLoaderTest, ARepeatedFlagReplacesTheList) {
  File("[source]\ntable = [\"a.b\"]\n");
  flags_.push_back({"source.table", "", "--table", {"c.d", "[e]"}});
  EXPECT_THAT(Loaded().GetList("source.table"), ElementsAre("c.d", "[e]"));
}

TEST_F(ConfigLoaderTest, ABadListOrTableOutsideOfTheFileIsRefused) {
  Variable("WALPOST_KAFKA__PROPERTIES", "linger.ms=5");
  EXPECT_THAT(Refusal(),
              StatusIs(kInvalid, AllOf(HasSubstr("kafka.properties (WALPOST_KAFKA__PROPERTIES)"),
                                       HasSubstr("write a table"))));
  Variable("WALPOST_KAFKA__PROPERTIES", "{}\nw = 1");  // a second value smuggled in
  EXPECT_THAT(Refusal(), StatusIs(kInvalid, HasSubstr("write a table")));
  environment_.clear();
  Variable("WALPOST_SOURCE__TABLE", "[\"a\", 1]");
  EXPECT_THAT(Refusal(),
              StatusIs(kInvalid, HasSubstr("source.table (WALPOST_SOURCE__TABLE): is a number")));
}

TEST_F(ConfigLoaderTest, ReferencesAreExpandedInTheFileOnly) {
  Variable("HOST", "db1");
  File(
      "[source]\ndsn = \"host=${HOST} options=$HOST\"\ntable = [\"${T:-a.b}\"]\n"
      "columns = { event_type = \"${HOST}\" }\n[delivery]\nwindow = \"${W:-7}\"\n");
  Flagged("source.slot", "${HOST}");
  const Settings settings = Loaded();
  EXPECT_EQ(settings.GetString("source.dsn"), "host='db1' options=$HOST");
  EXPECT_THAT(settings.GetList("source.table"), ElementsAre("a.b"));
  EXPECT_THAT(settings.GetTable("source.columns"), ElementsAre(Pair("event_type", "db1")));
  EXPECT_EQ(settings.GetInteger("delivery.window"), 7);
  EXPECT_EQ(settings.GetString("source.slot"), "${HOST}");
}

TEST_F(ConfigLoaderTest, AnAbsentVariableNamesKeyAndLine) {
  File("[source]\n\ndsn = \"password=${PGPASS}\"\n");
  EXPECT_THAT(Refusal(), StatusIs(kInvalid, AllOf(HasSubstr("source.dsn (" + path_ + " line 3)"),
                                                  HasSubstr("PGPASS is not set"))));
}

TEST_F(ConfigLoaderTest, SyntaxErrorsNameLineAndColumn) {
  File("[source]\nslot = \n");
  EXPECT_THAT(Refusal(), StatusIs(kInvalid, HasSubstr(path_ + " line 2, column ")));
  File("[source]\nslot = \"a\"\nslot = \"b\"\n");
  EXPECT_THAT(Refusal(), StatusIs(kInvalid, HasSubstr(path_ + " line 3, column ")));
}

TEST_F(ConfigLoaderTest, AFileThatCannotBeReadIsNamed) {
  path_ = "/nonexistent/walpost.toml";
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("can't read /nonexistent/walpost.toml: No such file")));
  path_ = ::testing::TempDir();
  EXPECT_THAT(Refusal(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("can't read ")));
  File(std::string(2 * 1024 * 1024, '#'));
  EXPECT_THAT(Refusal(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("larger than 1 MiB")));
}

TEST_F(ConfigLoaderTest, UnknownKeysAndSectionsComeWithASuggestion) {
  struct Case {
    const char* content;
    const char* message;
  };
  const Case cases[] = {
      {"[source]\nslott = \"a\"\n",
       "unknown key 'source.slott' (@ line 2), did you mean 'source.slot'?"},
      {"slot = \"a\"\n", "unknown key 'slot' (@ line 1), did you mean 'source.slot'?"},
      {"[sauce]\nslot = \"a\"\n", "unknown section [sauce] (@ line 1)"},
      {"[kafak]\nx = 1\n", "unknown section [kafak] (@ line 1), did you mean [kafka]?"},
      {"[kafka.propertys]\nx = 1\n",
       "unknown section [kafka.propertys] (@ line 1), did you mean [kafka.properties]?"},
      {"[source]\nslot.name = \"a\"\n",
       "source.slot (@ line 2): is a table; write a string in quotes"},
  };
  for (const Case& c : cases) {
    File(c.content);
    std::string expected = c.message;
    if (const auto at = expected.find('@'); at != std::string::npos) expected.replace(at, 1, path_);
    EXPECT_THAT(Refusal(), StatusIs(kInvalid, HasSubstr(expected)));
  }
}

TEST_F(ConfigLoaderTest, AValueOfTheWrongKindSaysHowToWriteIt) {
  struct Case {
    const char* content;
    const char* message;
  };
  const Case cases[] = {
      {"[source]\nslot = 5\n", "source.slot (@ line 2): is a number; write a string in quotes"},
      {"[source]\nslot = true\n", "is a boolean; write a string in quotes"},
      {"[source]\nslot = [\"a\"]\n", "is a list; write a string in quotes"},
      {"[source]\nslot = 2026-01-01\n", "is a date or time; write a string in quotes"},
      {"[source]\ntable = 5\n", "source.table (@ line 2): is a number; write a string, or a list"},
      {"[source]\ntable = [\"a\",\n 5]\n", "source.table (@ line 3): is a number"},
      {"[source]\ncolumns = \"a\"\n", "source.columns (@ line 2): is a string; write a table"},
      {"[source.columns]\na = [1]\n", "source.columns.a (@ line 2): is a list; write a string"},
      {"[kafka]\ncreate_topics = \"true\"\n", "is a string; write true or false without quotes"},
      {"[delivery]\nwindow = \"5\"\n",
       "delivery.window (@ line 2): is a string; write a whole number"},
      {"[delivery]\nwindow = 1.5\n", "is a number; write a whole number"},
      {"[delivery]\ndrain_timeout = 25\n", "is a number; write a duration in quotes, as \"25s\""},
      {"[delivery]\ndrain_timeout = \"25\"\n", "'25' is not a duration"},
      {"[delivery]\nbytes = -1\n", "'-1' is not a size"},
  };
  for (const Case& c : cases) {
    File(c.content);
    std::string expected = c.message;
    if (const auto at = expected.find('@'); at != std::string::npos) expected.replace(at, 1, path_);
    EXPECT_THAT(Refusal(), StatusIs(kInvalid, HasSubstr(expected)));
  }
}

TEST_F(ConfigLoaderTest, AVariableThatNamesNoKeyIsAnError) {
  Variable("WALPOST_SOURCE__SLOTT", "x");
  EXPECT_THAT(Refusal(),
              StatusIs(kInvalid, HasSubstr("unknown key 'source.slott' (WALPOST_SOURCE__SLOTT), "
                                           "did you mean 'source.slot'?")));
}

TEST_F(ConfigLoaderTest, OtherVariablesAreNotLookedAt) {
  Variable("WALPOST_HOME", "/x");
  Variable("NOT_WALPOST_SOURCE__SLOT", "x");
  Variable("walpost_source__slot", "x");
  EXPECT_EQ(Loaded().GetString("source.slot"), "walpost");
}

TEST_F(ConfigLoaderTest, SecretsStayOffTheCommandLine) {
  Flagged("source.dsn", "password=S3CR3T-CANARY");
  EXPECT_THAT(Refusal(), StatusIs(kInvalid, AllOf(HasSubstr("source.dsn (--set)"),
                                                  HasSubstr("WALPOST_SOURCE__DSN"),
                                                  Not(HasSubstr("CANARY")))));
  flags_.clear();
  Flagged("kafka.properties.sasl.password", "S3CR3T-CANARY");
  EXPECT_THAT(Refusal(),
              StatusIs(kInvalid, AllOf(HasSubstr("${file:PATH}"), Not(HasSubstr("CANARY")))));
}

TEST(ParseSetFlagTest, SplitsAtTheFirstEqualsSign) {
  const auto flag = ParseSetFlag("routing.topic=a=b");
  ASSERT_TRUE(flag.ok());
  EXPECT_EQ(flag->key, "routing.topic");
  EXPECT_EQ(flag->value, "a=b");
  EXPECT_EQ(flag->origin, "--set");
  EXPECT_EQ(ParseSetFlag("admin.listen=")->value, "");
}

TEST(ParseSetFlagTest, AnythingElseIsAUsageErrorThatRepeatsNothing) {
  for (const char* text : {"", "CANARY", "CANARY=x", "=a.b", "source.CANARY"}) {
    const absl::Status status = ParseSetFlag(text).status();
    EXPECT_THAT(status,
                StatusIs(kInvalid, AllOf(HasSubstr("SECTION.KEY=VALUE"), Not(HasSubstr("CANARY")))))
        << text;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  }
}

}  // namespace
}  // namespace walpost
