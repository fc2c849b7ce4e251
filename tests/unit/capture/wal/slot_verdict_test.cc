#include "capture/wal/slot_verdict.h"

#include <gmock/gmock.h>

namespace walpost::capture {
namespace {

using ::testing::HasSubstr;

SlotSituation Healthy() {
  return {.name = "relay",
          .active = true,
          .wal_status = "reserved",
          .retained_bytes = 1000,
          .unconfirmed_bytes = 500};
}

SlotVerdict Judge(const SlotSituation& slot) { return JudgeDanger(slot, {}); }

TEST(SlotVerdictTest, AHealthySlotHasNothingToSay) {
  const SlotVerdict verdict = Judge(Healthy());
  EXPECT_EQ(verdict.severity, Severity::kOk);
  EXPECT_EQ(verdict.reason, "");
  EXPECT_FALSE(verdict.time_to_invalidation);
}

TEST(SlotVerdictTest, ALostSlotIsCriticalWhateverElseItIs) {
  SlotSituation slot = Healthy();
  slot.wal_status = "lost";
  EXPECT_EQ(Judge(slot).severity, Severity::kCritical);
  EXPECT_THAT(Judge(slot).hint, HasSubstr("drop relay"));
  slot = Healthy();
  slot.invalidation_reason = "idle_timeout";
  EXPECT_EQ(Judge(slot).severity, Severity::kCritical);
  EXPECT_THAT(Judge(slot).reason, HasSubstr("idle_timeout"));
}

TEST(SlotVerdictTest, UnreservedIsCriticalAndExtendedAWarning) {
  SlotSituation slot = Healthy();
  slot.wal_status = "unreserved";
  EXPECT_EQ(Judge(slot).severity, Severity::kCritical);
  slot.wal_status = "extended";
  EXPECT_EQ(Judge(slot).severity, Severity::kWarning);
}

TEST(SlotVerdictTest, RetainedWalHasTwoBounds) {
  SlotSituation slot = Healthy();
  slot.retained_bytes = (std::int64_t{1} << 30) - 1;
  EXPECT_EQ(Judge(slot).severity, Severity::kOk);
  slot.retained_bytes = std::int64_t{1} << 30;
  EXPECT_EQ(Judge(slot).severity, Severity::kWarning);
  slot.retained_bytes = std::int64_t{10} << 30;
  EXPECT_EQ(Judge(slot).severity, Severity::kCritical);
  EXPECT_THAT(Judge(slot).reason, HasSubstr("10.0 GiB"));
}

TEST(SlotVerdictTest, TheTimeLeftIsWhatTheRateMakesOfIt) {
  SlotSituation slot = Healthy();
  slot.safe_wal_size = 36'000'000;
  slot.wal_rate = 1000;
  SlotVerdict verdict = Judge(slot);
  EXPECT_EQ(verdict.time_to_invalidation, absl::Hours(10));
  EXPECT_EQ(verdict.severity, Severity::kOk);
  slot.wal_rate = 5000;
  EXPECT_EQ(Judge(slot).severity, Severity::kWarning);
  slot.wal_rate = 50'000;
  EXPECT_EQ(Judge(slot).severity, Severity::kCritical);
  EXPECT_THAT(Judge(slot).reason, HasSubstr("12m"));
  // Behind the limit already, and a server at rest.
  slot.safe_wal_size = -5;
  EXPECT_EQ(Judge(slot).time_to_invalidation, absl::ZeroDuration());
  slot.wal_rate = 0;
  EXPECT_FALSE(Judge(slot).time_to_invalidation);
  slot.safe_wal_size.reset();
  slot.wal_rate = 1e9;
  EXPECT_FALSE(Judge(slot).time_to_invalidation);
}

TEST(SlotVerdictTest, ASlotThatNobodyReadsIsAWarningInTime) {
  SlotSituation slot = Healthy();
  slot.active = false;
  slot.inactive_for = absl::Minutes(59);
  EXPECT_EQ(Judge(slot).severity, Severity::kOk);
  slot.inactive_for = absl::Hours(1);
  EXPECT_EQ(Judge(slot).severity, Severity::kWarning);
  slot.synced = true;
  EXPECT_EQ(Judge(slot).severity, Severity::kOk);
  // Servers that don't say since when: by what it holds back.
  slot.synced = false;
  slot.inactive_for.reset();
  EXPECT_EQ(Judge(slot).severity, Severity::kOk);
  slot.retained_bytes = std::int64_t{200} << 20;
  EXPECT_EQ(Judge(slot).reason, "nobody reads it");
}

TEST(SlotVerdictTest, TheWorstFindingIsSaid) {
  SlotSituation slot = Healthy();
  slot.wal_status = "extended";
  slot.retained_bytes = std::int64_t{20} << 30;
  EXPECT_EQ(Judge(slot).severity, Severity::kCritical);
  EXPECT_THAT(Judge(slot).reason, HasSubstr("holds back 20.0 GiB"));
}

}  // namespace
}  // namespace walpost::capture
