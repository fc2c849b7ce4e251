#include "outbox/message_headers.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using ::testing::HasSubstr;

using Headers = std::vector<std::pair<std::string, std::string>>;

Event PlainEvent() {
  Event event;
  event.event_id = "e-1";
  event.event_type = "Placed";
  event.aggregate_type = "order";
  event.aggregate_id = "o-1";
  return event;
}

Origin OriginAt(std::uint64_t commit_lsn, std::uint32_t index) {
  Origin origin;
  origin.commit_lsn = Lsn(commit_lsn);
  origin.index = index;
  return origin;
}

Headers Build(HeaderBuilder& builder, const Event& event, bool raw_payload = false,
              std::string_view content_type = "c") {
  Headers headers;
  for (const MessageHeader& header :
       builder.Build(event, OriginAt(0x16B3748A8, 3), content_type, raw_payload)) {
    headers.emplace_back(header.name, header.value);
  }
  return headers;
}

TEST(Headers, TheDefaults) {
  HeaderBuilder builder = HeaderBuilder::Make({}, {}).value();
  EXPECT_EQ(Build(builder, PlainEvent()), (Headers{{"id", "e-1"},
                                                   {"eventType", "Placed"},
                                                   {"content-type", "c"},
                                                   {"walpost-lsn", "000000016B3748A8-00000003"}}));
}

TEST(Headers, TraceContextGoesAlongWhereThereIsOne) {
  HeaderBuilder builder = HeaderBuilder::Make({}, {}).value();
  Event event = PlainEvent();
  event.traceparent = "00-a-b-01";
  event.tracestate = "x=y";
  EXPECT_EQ(Build(builder, event), (Headers{{"id", "e-1"},
                                            {"eventType", "Placed"},
                                            {"content-type", "c"},
                                            {"traceparent", "00-a-b-01"},
                                            {"tracestate", "x=y"},
                                            {"walpost-lsn", "000000016B3748A8-00000003"}}));
}

TEST(Headers, ARawPayloadGetsWhatTheEnvelopeWouldSay) {
  HeaderBuilder builder = HeaderBuilder::Make({}, {}).value();
  Event event = PlainEvent();
  const Headers least = Build(builder, event, true);
  EXPECT_EQ(least.back(), (std::pair<std::string, std::string>{"aggregateType", "order"}));
  event.aggregate_version = -7;
  event.schema_version = 2;
  event.occurred_at = absl::FromUnixMicros(1772361296123456);
  event.correlation_id = "r-1";
  EXPECT_EQ(Build(builder, event, true), (Headers{{"id", "e-1"},
                                                  {"eventType", "Placed"},
                                                  {"content-type", "c"},
                                                  {"walpost-lsn", "000000016B3748A8-00000003"},
                                                  {"aggregateType", "order"},
                                                  {"aggregateVersion", "-7"},
                                                  {"schemaVersion", "2"},
                                                  {"occurredAt", "2026-03-01T10:34:56.123456Z"},
                                                  {"correlationId", "r-1"}}));
}

TEST(Headers, ATombstoneHasNoContentType) {
  HeaderBuilder builder = HeaderBuilder::Make({}, {}).value();
  for (const auto& [name, value] : Build(builder, PlainEvent(), true, "")) {
    EXPECT_NE(name, "content-type");
  }
}

TEST(Headers, PositionsSortAsText) {
  HeaderBuilder builder = HeaderBuilder::Make({}, {}).value();
  std::string last;
  for (const auto& [lsn, index] :
       std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0, 0},
                                                            {0, 1},
                                                            {9, 0},
                                                            {10, 0},
                                                            {0xFFFFFFFF, 9},
                                                            {0xFFFFFFFF, 10},
                                                            {1ULL << 32U, 0},
                                                            {~0ULL, ~0U}}) {
    std::string position;
    for (const MessageHeader& header :
         builder.Build(PlainEvent(), OriginAt(lsn, index), "c", false)) {
      if (header.name == "walpost-lsn") position = header.value;
    }
    EXPECT_EQ(position.size(), 25U);
    EXPECT_LT(last, position);
    last = position;
  }
  EXPECT_EQ(last, "FFFFFFFFFFFFFFFF-FFFFFFFF");
}

TEST(Headers, ConfiguredOnesFollowTheDefaultsAndReplaceTheirNamesakes) {
  HeaderBuilder builder = HeaderBuilder::Make({{"eventType", "aggregate_type"},
                                               {"tenant", "correlation_id"},
                                               {"v", "schema_version"},
                                               {"at", "occurred_at"}},
                                              {})
                              .value();
  Event event = PlainEvent();
  event.schema_version = 0;
  event.occurred_at = absl::FromUnixMillis(1500);
  EXPECT_EQ(Build(builder, event), (Headers{{"id", "e-1"},
                                            {"content-type", "c"},
                                            {"walpost-lsn", "000000016B3748A8-00000003"},
                                            {"at", "1970-01-01T00:00:01.500Z"},
                                            {"eventType", "order"},
                                            {"v", "0"}}));
}

TEST(Headers, NamesThatConsumersRelyOnCannotBeGivenAway) {
  for (const char* name :
       {"id", "ID", "content-type", "walpost-lsn", "walpost-x", "ce_id", "__x", ""}) {
    EXPECT_THAT(HeaderBuilder::Make({{name, "event_type"}}, {}),
                StatusIs(kInvalid, HasSubstr(std::string("routing.headers.") + name + ":")))
        << name;
  }
  for (const char* field : {"payload", "headers", "evnt_type", ""}) {
    EXPECT_THAT(HeaderBuilder::Make({{"x", field}}, {}),
                StatusIs(kInvalid, HasSubstr(std::string("routing.headers.x: '") + field + "'")));
  }
}

TEST(Headers, OfARowPassOnlyByTheAllowList) {
  const MessageHeader row[] = {{"x-a", "1"}, {"y", "2"}, {"x-b", "\xff"}, {"x-a", "3"}};
  Event event = PlainEvent();
  event.headers = row;
  HeaderBuilder none = HeaderBuilder::Make({}, {}).value();
  EXPECT_EQ(Build(none, event).size(), 4U);
  EXPECT_EQ(none.dropped(), 4U);
  HeaderBuilder some = HeaderBuilder::Make({}, {"x-.*"}).value();
  const Headers headers = Build(some, event);
  EXPECT_EQ(Headers(headers.begin() + 4, headers.end()),
            (Headers{{"x-a", "1"}, {"x-b", "\xff"}, {"x-a", "3"}}));
  EXPECT_EQ(some.dropped(), 1U);
}

TEST(Headers, ReservedNamesOfARowNeverPass) {
  HeaderBuilder builder = HeaderBuilder::Make({{"Tenant", "event_type"}}, {".*"}).value();
  std::vector<MessageHeader> row;
  for (std::size_t i = 0; i < kOwnHeaderCount; ++i) row.push_back({NameOf(OwnHeader(i)), "forged"});
  for (const char* name : {"ID", "EVENTTYPE", "Content-Type", "ce_id", "CE_type",
                           "__value_schema_id", "walpost-error", "Walpost-Lsn", "tenant"}) {
    row.push_back({name, "forged"});
  }
  Event event = PlainEvent();
  event.headers = row;
  for (const auto& [name, value] : Build(builder, event, true)) EXPECT_NE(value, "forged") << name;
  EXPECT_EQ(builder.dropped(), row.size());
}

}  // namespace
}  // namespace walpost::outbox
