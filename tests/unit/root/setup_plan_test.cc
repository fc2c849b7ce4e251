#include "setup_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "status_is.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr auto kUnfit = absl::StatusCode::kFailedPrecondition;

// A database with an outbox table and nothing else, on which a test puts what it is about.
class SetupPlanTest : public ::testing::Test {
 protected:
  SetupPlanTest() {
    request_.slot = "walpost";
    request_.publication = "walpost";
    request_.tables = {{"public", "outbox"}};
    facts_.catalog.server = {150020, "app", "logical", "UTF8", Lsn(1)};
    facts_.catalog.slot.name = "walpost";
    facts_.catalog.publication.name = "walpost";
    facts_.tables = {{true, true, 'r', 'p', {"id", "aggregate_id"}}};
  }

  void NoTable() { facts_.tables[0] = {true, false, ' ', ' ', {}}; }
  void Shape(const char* letter) { request_.shape = FindOutboxShape(letter); }
  void PublicationExists() {
    facts_.catalog.publication = {.name = "walpost", .exists = true, .publishes_insert = true};
  }
  void SlotExists() {
    facts_.catalog.slot.exists = true;
    facts_.catalog.slot.type = "logical";
    facts_.catalog.slot.plugin = "pgoutput";
    facts_.catalog.slot.database = "app";
    facts_.catalog.slot.wal_status = "reserved";
  }
  void WithRole() { request_.role = "relay"; }

  std::vector<SetupStep> Plan() {
    const auto steps = PlanSetup(request_, facts_);
    EXPECT_TRUE(steps.ok()) << steps.status();
    return steps.value_or(std::vector<SetupStep>());
  }
  // The SQL of all steps, in order.
  std::string Sql() {
    std::string sql;
    for (const SetupStep& step : Plan()) sql += step.sql;
    return sql;
  }
  absl::Status Refusal() {
    const absl::Status status = PlanSetup(request_, facts_).status();
    EXPECT_NE(HintOf(status), "") << status;
    return status;
  }

  SetupRequest request_;
  SetupFacts facts_;
};

TEST_F(SetupPlanTest, AnExistingTableGetsAPublicationAndThenASlot) {
  EXPECT_EQ(
      Sql(),
      "CREATE PUBLICATION \"walpost\" FOR TABLE \"public\".\"outbox\" WITH (publish = 'insert');\n"
      "SELECT pg_create_logical_replication_slot('walpost', 'pgoutput');\n");
}

TEST_F(SetupPlanTest, TheOrderIsTablePublicationRoleSlot) {
  NoTable();
  Shape("D");
  WithRole();
  std::vector<SetupStep::Kind> kinds;
  for (const SetupStep& step : Plan()) {
    kinds.push_back(step.kind);
    EXPECT_NE(step.sql, "");
  }
  EXPECT_THAT(kinds, ElementsAre(SetupStep::Kind::kTable, SetupStep::Kind::kPublication,
                                 SetupStep::Kind::kRole, SetupStep::Kind::kSlot));
}

TEST_F(SetupPlanTest, WhatIsThereAndFitsIsLeftAlone) {
  PublicationExists();
  SlotExists();
  EXPECT_EQ(Sql(), "");
  EXPECT_THAT(RenderSetup(Plan(), "app"),
              AllOf(HasSubstr("-- table public.outbox: already there\n"),
                    HasSubstr("-- publication walpost: already there\n"),
                    HasSubstr("-- slot walpost: already there\n"), Not(HasSubstr("SET"))));
}

TEST_F(SetupPlanTest, APublicationThatIsThereGetsItsSlot) {
  PublicationExists();
  EXPECT_EQ(Sql(), "SELECT pg_create_logical_replication_slot('walpost', 'pgoutput');\n");
}

// The publication would not exist at the position from which the slot decodes.
TEST_F(SetupPlanTest, ASlotWithoutItsPublicationIsRefused) {
  SlotExists();
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("publication 'walpost' does not exist")));
  EXPECT_EQ(ExitCodeOf(Refusal()), ExitCode::kConfiguration);
}

TEST_F(SetupPlanTest, SlotsThatDoNotFitAreRefused) {
  PublicationExists();
  SlotExists();
  const capture::SlotFacts fit = facts_.catalog.slot;
  facts_.catalog.slot.plugin = "test_decoding";
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("plugin 'test_decoding'")));
  facts_.catalog.slot = fit;
  facts_.catalog.slot.database = "other";
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("belongs to database 'other'")));
  facts_.catalog.slot = fit;
  facts_.catalog.slot.type = "physical";
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("physical")));
  facts_.catalog.slot = fit;
  facts_.catalog.slot.two_phase = true;
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("two_phase")));
  facts_.catalog.slot = fit;
  facts_.catalog.slot.wal_status = "lost";
  EXPECT_EQ(ExitCodeOf(Refusal()), ExitCode::kData);
}

TEST_F(SetupPlanTest, PublicationsThatDoNotFitAreRefusedWithOrWithoutASlot) {
  for (const bool slot : {false, true}) {
    if (slot) SlotExists();
    PublicationExists();
    facts_.catalog.publication.publishes_insert = false;
    EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("does not publish inserts")));
    PublicationExists();
    facts_.catalog.publication.missing_tables = request_.tables;
    EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("does not contain the table public.outbox")));
    EXPECT_THAT(HintOf(Refusal()), HasSubstr("ADD TABLE"));
    PublicationExists();
    facts_.catalog.publication.filtered_tables = request_.tables;
    EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("filters")));
  }
}

TEST_F(SetupPlanTest, AServerWithoutLogicalDecodingIsRefused) {
  facts_.catalog.server.wal_level = "replica";
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("wal_level is 'replica'")));
  EXPECT_THAT(HintOf(Refusal()), HasSubstr("wal_level"));
}

TEST_F(SetupPlanTest, AMissingTableIsRefusedUnlessAShapeIsAskedFor) {
  NoTable();
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("table public.outbox does not exist")));
  EXPECT_THAT(HintOf(Refusal()), HasSubstr("--create-table"));
  Shape("A");
  EXPECT_THAT(Sql(), StartsWith("CREATE TABLE \"public\".\"outbox\" ("));
}

TEST_F(SetupPlanTest, AMissingSchemaIsMadeWithTheTable) {
  request_.tables = {{"events", "outbox"}};
  facts_.tables[0] = {false, false, ' ', ' ', {}};
  Shape("A");
  EXPECT_THAT(Sql(), StartsWith("CREATE SCHEMA \"events\";\nCREATE TABLE \"events\".\"outbox\" ("));
}

TEST_F(SetupPlanTest, AnExistingTableMustHaveTheColumnsOfTheShape) {
  Shape("E");
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("lacks columns of shape E: aggregatetype, "
                                                    "aggregateid, type, payload")));
  facts_.tables[0].columns = {"id", "payload", "type", "extra", "aggregateid", "aggregatetype"};
  EXPECT_THAT(Sql(), StartsWith("CREATE PUBLICATION"));
  facts_.tables[0].kind = 'p';
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("exists and is partitioned, unlike shape E")));
}

TEST_F(SetupPlanTest, WhatHasNoWalIsRefused) {
  facts_.tables[0].kind = 'v';
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("is not a table")));
  facts_.tables[0] = {true, true, 'r', 'u', {}};
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("unlogged or temporary")));
}

TEST_F(SetupPlanTest, PartitionsArePublishedUnderTheirParentsName) {
  facts_.tables[0].kind = 'p';
  EXPECT_THAT(Sql(), HasSubstr("publish = 'insert', publish_via_partition_root = true"));
  NoTable();
  Shape("G");
  EXPECT_THAT(Sql(), HasSubstr("publish_via_partition_root = true"));
}

TEST_F(SetupPlanTest, APublicationOfPartitionsUnderTheirOwnNamesIsRefused) {
  facts_.tables[0].kind = 'p';
  PublicationExists();
  facts_.catalog.publication.missing_tables = request_.tables;  // its partitions are in there
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("publishes partitions under their own names")));
  EXPECT_THAT(HintOf(Refusal()),
              HasSubstr("ALTER PUBLICATION \"walpost\" SET (publish_via_partition_root"));
  facts_.publishes_via_root = true;
  PublicationExists();
  EXPECT_THAT(Plan(), Not(IsEmpty()));
}

TEST_F(SetupPlanTest, ATableToMakeCanOnlyBeInAPublicationOfAllTables) {
  NoTable();
  Shape("D");
  PublicationExists();
  facts_.catalog.publication.missing_tables = request_.tables;
  EXPECT_THAT(Refusal(), StatusIs(kUnfit, HasSubstr("exists without the table public.outbox")));
  facts_.publishes_all_tables = true;
  EXPECT_THAT(Sql(), AllOf(StartsWith("CREATE TABLE"), Not(HasSubstr("PUBLICATION"))));
}

TEST_F(SetupPlanTest, ARoleGetsTheLeastItNeeds) {
  WithRole();
  EXPECT_THAT(Sql(), HasSubstr("CREATE ROLE \"relay\" LOGIN REPLICATION CONNECTION LIMIT 4;\n"
                               "ALTER ROLE \"relay\" SET default_transaction_read_only = on;\n"
                               "GRANT CONNECT ON DATABASE \"app\" TO \"relay\";\n"));
}

TEST_F(SetupPlanTest, AnExistingRoleIsLeftAsItIsOrRefused) {
  WithRole();
  facts_.role = {true, true, true, true};
  EXPECT_THAT(Sql(), Not(HasSubstr("ROLE")));
  facts_.role.may_connect = false;
  EXPECT_THAT(Sql(), AllOf(HasSubstr("GRANT CONNECT"), Not(HasSubstr("CREATE ROLE"))));
  facts_.role.may_replicate = false;
  EXPECT_THAT(Refusal(),
              StatusIs(kUnfit, HasSubstr("role relay exists and lacks LOGIN or REPLICATION")));
  EXPECT_EQ(HintOf(Refusal()), "ALTER ROLE \"relay\" LOGIN REPLICATION");
}

TEST_F(SetupPlanTest, AllTablesAreInOnePublication) {
  request_.tables = {{"public", "a"}, {"events", "b"}};
  facts_.tables = {{true, true, 'r', 'p', {}}, {true, true, 'r', 'p', {}}};
  EXPECT_THAT(Sql(), HasSubstr("FOR TABLE \"public\".\"a\", \"events\".\"b\" WITH"));
}

TEST_F(SetupPlanTest, NamesCannotLeaveTheirQuotesOrComments) {
  request_.publication = "p\"; DROP TABLE x; --";
  request_.tables = {{"public", "o'ut\nDROP TABLE y;"}};
  facts_.catalog.publication.name = request_.publication;
  const std::string script = RenderSetup(Plan(), "app\nDROP DATABASE app;");
  EXPECT_THAT(script, HasSubstr("CREATE PUBLICATION \"p\"\"; DROP TABLE x; --\" FOR TABLE "
                                "\"public\".\"o'ut\nDROP TABLE y;\""));
  EXPECT_THAT(script, HasSubstr("-- table public.o'ut DROP TABLE y;: already there\n"));
  EXPECT_THAT(script, HasSubstr("for database app DROP DATABASE app;."));
}

TEST_F(SetupPlanTest, TheScriptBoundsTheWaitOfTheSlot) {
  const std::string script = RenderSetup(Plan(), "app");
  EXPECT_THAT(script, StartsWith("-- walpost setup for database app."));
  EXPECT_THAT(script,
              HasSubstr("SET lock_timeout = '10s';\n"
                        "SELECT pg_create_logical_replication_slot('walpost', 'pgoutput');\n"));
}

}  // namespace
}  // namespace walpost
