#include "capture/wal/slot_health.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/status.h"
#include "status_is.h"

namespace walpost::capture {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

CatalogFacts Healthy() {
  CatalogFacts facts;
  facts.server = {150020, "shop", "logical", "UTF8", Lsn(5000)};
  facts.slot.name = "relay";
  facts.slot.exists = true;
  facts.slot.plugin = "pgoutput";
  facts.slot.type = "logical";
  facts.slot.database = "shop";
  facts.slot.wal_status = "reserved";
  facts.publication = {.name = "relay", .exists = true, .publishes_insert = true};
  return facts;
}

TEST(SlotHealth, AHealthySlotMayBeStreamedHeldOrNot) {
  CatalogFacts facts = Healthy();
  EXPECT_TRUE(Judge(facts, Phase::kStart).ok());
  facts.slot.active = true;
  EXPECT_TRUE(Judge(facts, Phase::kRunning).ok());
  facts.slot.wal_status = "unreserved";  // in danger, not lost
  EXPECT_TRUE(Judge(facts, Phase::kRunning).ok());
}

struct Case {
  const char* message;
  std::function<void(CatalogFacts&)> spoil;
};

TEST(SlotHealth, EachFaultHasItsMessageHintAndExitCode) {
  const Case cases[] = {
      {"wal_level is 'replica'", [](CatalogFacts& f) { f.server.wal_level = "replica"; }},
      {"slot 'relay' does not exist", [](CatalogFacts& f) { f.slot.exists = false; }},
      {"is a physical slot", [](CatalogFacts& f) { f.slot.type = "physical"; }},
      {"uses the plugin 'test_decoding'", [](CatalogFacts& f) { f.slot.plugin = "test_decoding"; }},
      {"belongs to database 'other', not 'shop'",
       [](CatalogFacts& f) { f.slot.database = "other"; }},
      {"two_phase", [](CatalogFacts& f) { f.slot.two_phase = true; }},
      {"publication 'relay' does not exist", [](CatalogFacts& f) { f.publication.exists = false; }},
      {"does not publish inserts", [](CatalogFacts& f) { f.publication.publishes_insert = false; }},
      {"the table public.outbox does not exist",
       [](CatalogFacts& f) {
         f.publication.unknown_tables = {{"public", "outbox"}};
       }},
      {"is unlogged",
       [](CatalogFacts& f) {
         f.publication.unlogged_tables = {{"public", "outbox"}};
       }},
      {"under the name of another table",
       [](CatalogFacts& f) {
         f.publication.renamed_tables = {{"public", "outbox"}};
       }},
      {"SQL_ASCII", [](CatalogFacts& f) { f.server.encoding = "SQL_ASCII"; }},
      {"does not contain the table public.outbox",
       [](CatalogFacts& f) {
         f.publication.missing_tables = {{"public", "outbox"}};
       }},
      {"filters rows or columns of public.outbox",
       [](CatalogFacts& f) {
         f.publication.filtered_tables = {{"public", "outbox"}};
       }},
  };
  for (const Case& fault : cases) {
    CatalogFacts facts = Healthy();
    fault.spoil(facts);
    const absl::Status at_start = Judge(facts, Phase::kStart);
    EXPECT_THAT(at_start,
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(fault.message)));
    EXPECT_EQ(ExitCodeOf(at_start), ExitCode::kConfiguration) << fault.message;
    EXPECT_NE(HintOf(at_start), "") << fault.message;
    // What was there and is there no more: going on would confirm past rows that never came.
    EXPECT_EQ(ExitCodeOf(Judge(facts, Phase::kRunning)), ExitCode::kData) << fault.message;
  }
}

TEST(SlotHealth, AnInvalidatedSlotIsDataLossWheneverItIsFound) {
  for (const Phase phase : {Phase::kStart, Phase::kRunning}) {
    CatalogFacts facts = Healthy();
    facts.slot.wal_status = "lost";
    EXPECT_THAT(Judge(facts, phase), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("invalidated (wal_status lost)")));
    EXPECT_EQ(ExitCodeOf(Judge(facts, phase)), ExitCode::kData);
    facts.slot.wal_status = "reserved";
    facts.slot.invalidation_reason = "idle_timeout";
    EXPECT_THAT(Judge(facts, phase), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("invalidated (idle_timeout)")));
  }
}

Continuity Continued() {
  return {.slot = "relay",
          .last = {{42, 1, "shop"}, Lsn(1000)},
          .identity = {42, 1, "shop"},
          .xlogpos = Lsn(2000),
          .confirmed_flush_lsn = Lsn(1000)};
}

TEST(Continuity, GoesOnFromWhereThisProcessConfirmedOrBelow) {
  Continuity facts = Continued();
  EXPECT_TRUE(JudgeContinuity(facts).ok());
  facts.confirmed_flush_lsn = Lsn(500);  // a crashed server forgets what it hadn't saved
  EXPECT_TRUE(JudgeContinuity(facts).ok());
  facts.identity.timeline = 2;  // a standby was promoted; its failover slot may lag
  facts.xlogpos = Lsn(900);
  EXPECT_TRUE(JudgeContinuity(facts).ok());
}

TEST(Continuity, ASlotBeyondWhatWasConfirmedIsAGapUnlessAnotherHeldIt) {
  Continuity facts = Continued();
  facts.confirmed_flush_lsn = Lsn(1001);
  EXPECT_THAT(JudgeContinuity(facts),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("gap: slot 'relay' is at 0/3E9, and this relay confirmed 0/3E8")));
  EXPECT_EQ(ExitCodeOf(JudgeContinuity(facts)), ExitCode::kData);
  facts.identity.timeline = 2;  // recreated after a failover
  EXPECT_FALSE(JudgeContinuity(facts).ok());
  facts.held_by_another = true;
  EXPECT_TRUE(JudgeContinuity(facts).ok());
}

TEST(Continuity, AnotherClusterDatabaseOrAnOlderCopyIsRefused) {
  Continuity facts = Continued();
  facts.identity.system_identifier = 43;
  EXPECT_THAT(JudgeContinuity(facts),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("connected to another database: system 43")));
  facts = Continued();
  facts.identity.database = "other";
  EXPECT_FALSE(JudgeContinuity(facts).ok());
  facts = Continued();
  facts.xlogpos = Lsn(999);
  facts.confirmed_flush_lsn = Lsn(500);
  EXPECT_THAT(JudgeContinuity(facts),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it is an older copy")));
  facts = Continued();
  facts.last.identity.timeline = 3;
  EXPECT_FALSE(JudgeContinuity(facts).ok());
}

TEST(SlotHealth, AStandbyThatCannotBeReadIsWaitedFor) {
  CatalogFacts facts = Healthy();
  facts.server.in_recovery = true;
  EXPECT_THAT(Judge(facts, Phase::kRunning),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("standby")));
  facts.server.version = 170000;
  EXPECT_TRUE(Judge(facts, Phase::kRunning).ok());
  facts.slot.synced = true;
  EXPECT_FALSE(Judge(facts, Phase::kRunning).ok());
}

}  // namespace
}  // namespace walpost::capture
