#include "base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Metrics::BuildInfo Build() { return {"1.2.3", "abc", "2.0.2", "15.20"}; }

TEST(MetricsTest, RendersWhatWasCounted) {
  Metrics metrics(Build());
  metrics.transactions_received.Increment(3);
  metrics.Delivered("outbox.event.order").Increment(5);
  metrics.Failed("outbox.event.order", "too_large").Increment();
  metrics.Reconnects("server_closed").Increment(2);
  metrics.Skipped(SkipReason::kReplayed).Increment(4);
  const std::string text = metrics.Render();
  EXPECT_THAT(text, HasSubstr("walpost_build_info{"));
  EXPECT_THAT(text, HasSubstr("version=\"1.2.3\""));
  EXPECT_THAT(text, HasSubstr("\nwalpost_transactions_received_total 3\n"));
  EXPECT_THAT(text,
              HasSubstr("walpost_messages_delivered_total{topic=\"outbox.event.order\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("reason=\"too_large\""));
  EXPECT_THAT(text,
              HasSubstr("walpost_replication_reconnects_total{reason=\"server_closed\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("walpost_messages_skipped_total{reason=\"replayed\"} 4\n"));
}

TEST(MetricsTest, TheSameLabelsAreTheSameInstrument) {
  Metrics metrics(Build());
  EXPECT_EQ(&metrics.Delivered("a"), &metrics.Delivered("a"));
  EXPECT_NE(&metrics.Delivered("a"), &metrics.Delivered("b"));
  EXPECT_EQ(&metrics.StageLatency(Stage::kAck), &metrics.StageLatency(Stage::kAck));
}

TEST(MetricsTest, ExactlyOneStateIsOn) {
  Metrics metrics(Build());
  for (const RelayState on : {RelayState::kStarting, RelayState::kStandby, RelayState::kStreaming,
                              RelayState::kStalled, RelayState::kStopping}) {
    metrics.SetState(on);
    const std::string text = metrics.Render();
    for (const char* name : {"starting", "standby", "streaming", "stalled", "stopping"}) {
      const std::string value = name == NameOf(on) ? "1" : "0";
      EXPECT_THAT(text,
                  HasSubstr("walpost_state{state=\"" + std::string(name) + "\"} " + value + "\n"));
    }
  }
}

TEST(MetricsTest, AnUnknownWalStatusTurnsAllOff) {
  Metrics metrics(Build());
  metrics.SetSlotWalStatus("lost");
  EXPECT_THAT(metrics.Render(), HasSubstr("walpost_slot_wal_status{status=\"lost\"} 1\n"));
  metrics.SetSlotWalStatus("");
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("status=\"lost\"} 1\n")));
}

TEST(MetricsTest, APositionKeepsEveryDigit) {
  Metrics metrics(Build());
  metrics.confirmed_lsn_bytes.Set(9007199254740991.0);  // 2^53 - 1
  EXPECT_THAT(metrics.Render(), HasSubstr("walpost_confirmed_lsn_bytes 9007199254740991\n"));
}

TEST(MetricsTest, LatencyIsCountedInItsBucket) {
  Metrics metrics(Build());
  metrics.end_to_end_latency_seconds.Observe(0.003);
  const std::string text = metrics.Render();
  EXPECT_THAT(text, HasSubstr("walpost_end_to_end_latency_seconds_bucket{le=\"0.0025\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("walpost_end_to_end_latency_seconds_bucket{le=\"0.005\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("walpost_end_to_end_latency_seconds_bucket{le=\"+Inf\"} 1\n"));
}

// Dashboards and alerts name these; a rename breaks them.
TEST(MetricsTest, NamesFollowTheConventions) {
  Metrics metrics(Build());
  metrics.StageLatency(Stage::kAck);
  metrics.Delivered("t");
  metrics.BytesDelivered("t");
  metrics.Failed("t", "r");
  metrics.Reconnects("r");
  metrics.DeadLetters("t");
  std::istringstream lines(metrics.Render());
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, kind;
    words >> hash >> what >> name >> kind;
    if (what != "TYPE") continue;
    EXPECT_EQ(name.rfind("walpost_", 0), 0U) << name;
    const std::string tail = "_total";
    const bool total = name.size() > tail.size() && name.substr(name.size() - tail.size()) == tail;
    EXPECT_EQ(total, kind == "counter") << name;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
  }
  EXPECT_EQ(names.size(), 36U);
}

}  // namespace
}  // namespace walpost
