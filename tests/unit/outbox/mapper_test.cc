#include "outbox/mapper.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "unit/outbox/shapes.h"
#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Headers = std::vector<std::pair<std::string, std::string>>;
Headers HeadersOf(const Event& event) {
  Headers headers;
  for (const MessageHeader& header : event.headers) headers.emplace_back(header.name, header.value);
  return headers;
}

// Each shape's row comes once as text and once in binary, and must give the same event.
class MapperShapes : public ::testing::TestWithParam<Form> {
 protected:
  Event Map(const GoldenRow& golden, MappingOptions options = {}) {
    mapper_ = std::make_unique<Mapper>(std::move(options));
    row_.emplace(RowOf(golden, GetParam()));
    const auto event = mapper_->Map(row_->row());
    EXPECT_THAT(event, IsOk());
    return event.ok() ? *event : Event();
  }

  std::unique_ptr<Mapper> mapper_;
  std::optional<TestRow> row_;
};
INSTANTIATE_TEST_SUITE_P(Forms, MapperShapes, ::testing::Values(Form::kText, Form::kBinary),
                         [](const auto& instance) {
                           return instance.param == Form::kText ? "text" : "binary";
                         });

TEST_P(MapperShapes, A) {
  const Event event = Map(ShapeA());
  EXPECT_EQ(event.event_id, "1");
  EXPECT_EQ(event.event_type, "OrderPlaced");
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
  EXPECT_EQ(event.aggregate_version, std::nullopt);
  EXPECT_EQ(event.schema_version, 2);  // of the payload
  EXPECT_EQ(event.correlation_id, "r-1");
  EXPECT_EQ(event.causation_id, "c-1");
  EXPECT_EQ(event.payload, R"({"data": {"total": "12.50"}, "version": 2, )"
                           R"("metadata": {"causation_id": "c-1", "correlation_id": "r-1"}})");
  EXPECT_EQ(event.content_type, "application/json");
  EXPECT_EQ(event.occurred_at, absl::FromUnixMicros(1772361296123456));
  EXPECT_EQ(mapper_->relation_name(), "events.outbox");
  EXPECT_EQ(mapper_->event_id(), "1");
}

TEST_P(MapperShapes, B) {
  const Event event = Map(ShapeB());
  EXPECT_EQ(event.event_id, "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(event.event_type, "InvoicePaid");
  EXPECT_EQ(event.aggregate_type, "invoice");
  EXPECT_EQ(event.aggregate_id, "42");
  EXPECT_EQ(event.aggregate_version, 7);
  EXPECT_EQ(event.schema_version, 3);
  EXPECT_EQ(event.payload, R"({"paid": true})");
  EXPECT_EQ(event.content_type, "application/json");
  EXPECT_EQ(event.occurred_at, absl::FromUnixSeconds(1772361296));
}

TEST_P(MapperShapes, CTakesOneLineOfConfiguration) {
  const Event event =
      Map(ShapeC(), {.columns = {{"aggregate_id", "message_id"}}, .constants = {}, .values = {}});
  EXPECT_EQ(event.event_id, "1");
  EXPECT_EQ(event.event_type, "CREATED");
  EXPECT_EQ(event.aggregate_type, "outbox_event");
  EXPECT_EQ(event.aggregate_id, "77");
  EXPECT_EQ(event.payload, "plain words");
  EXPECT_EQ(event.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(event.occurred_at, absl::FromUnixMicros(1772323200500000));
}

TEST_P(MapperShapes, CWithoutThatLineSaysWhichLine) {
  Mapper mapper({});
  TestRow row = RowOf(ShapeC(), GetParam());
  const auto event = mapper.Map(row.row());
  EXPECT_THAT(event,
              StatusIs(kPrecondition,
                       HasSubstr("table public.outbox_event has no column for aggregate_id")));
  EXPECT_THAT(HintOf(event.status()), HasSubstr("set source.columns.aggregate_id"));
}

TEST_P(MapperShapes, D) {
  const Event event = Map(ShapeD());
  EXPECT_EQ(event.event_id, "99999999-8888-7777-6666-555555555555");
  EXPECT_EQ(event.aggregate_type, "customer");
  EXPECT_EQ(event.aggregate_id, "kund-ä");
  EXPECT_EQ(event.schema_version, std::nullopt);
  EXPECT_EQ(event.payload, R"({"a": "ä", "b": 1.50})");
  EXPECT_EQ(event.occurred_at, absl::FromUnixMillis(1772361296123));
}

TEST_P(MapperShapes, E) {
  const Event event = Map(ShapeE());
  EXPECT_EQ(event.event_type, "ShipmentSent");
  EXPECT_EQ(event.aggregate_type, "shipment");
  EXPECT_EQ(event.aggregate_id, "s-1");
  EXPECT_EQ(event.payload, std::nullopt);
  EXPECT_EQ(event.occurred_at, std::nullopt);
}

TEST_P(MapperShapes, F) {
  const Event event = Map(ShapeF());
  EXPECT_EQ(event.payload, std::string_view("\x0a\x00\xff", 3));
  EXPECT_EQ(event.content_type, "application/x-protobuf");
  EXPECT_EQ(event.schema_version, 4);
  EXPECT_EQ(event.traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(HeadersOf(event),
            (Headers{{"x-n", "12.50"}, {"x-nested", R"({"a": [1]})"}, {"x-tenant", "t1"}}));
}

TEST_P(MapperShapes, G) {
  const Event event = Map(ShapeG());
  EXPECT_EQ(event.event_id, "99999999-8888-7777-6666-000000000003");
  EXPECT_EQ(event.payload, "[1, 2]");
  EXPECT_EQ(event.content_type, "application/json");
}

class MapperTest : public ::testing::Test {
 protected:
  absl::StatusOr<Event> Map(TestRow& row) { return mapper_.Map(row.row()); }

  Mapper mapper_{{}};
};

TEST_F(MapperTest, AValueNamesAnOrdinal) {
  Mapper mapper({.columns = {},
                 .constants = {},
                 .values = {{"event_type", {{"0", "CREATED"}, {"1", "UPDATED"}}}}});
  const auto with_type = [](std::string ordinal) {
    TestRow row("public", "outbox");
    row.Essentials().Without("event_type").Text("event_type", kInt2Oid, std::move(ordinal));
    return row;
  };
  TestRow updated = with_type("1");
  EXPECT_EQ(mapper.Map(updated.row())->event_type, "UPDATED");
  TestRow unknown = with_type("2");
  const auto event = mapper.Map(unknown.row());
  EXPECT_THAT(event, StatusIs(kInvalid, AllOf(HasSubstr("event 'e-1' of table public.outbox"),
                                              HasSubstr("column 'event_type' (int2)"))));
  EXPECT_THAT(HintOf(event.status()), HasSubstr("source.values.event_type"));
}

TEST_F(MapperTest, WhatARowMustHaveIsNeitherNullNorEmpty) {
  for (const char* column : {"id", "event_type", "aggregate_type"}) {
    for (const bool null : {true, false}) {
      TestRow row("public", "outbox");
      row.Essentials().Without(column);
      null ? row.Null(column, kTextOid) : row.Text(column, kTextOid, "");
      EXPECT_THAT(Map(row), StatusIs(kInvalid, AllOf(HasSubstr(std::string("column '") + column),
                                                     HasSubstr(null ? "is null" : "is empty"),
                                                     HasSubstr("of table public.outbox"))));
      EXPECT_EQ(mapper_.event_id(), std::string_view(column) == "id" ? "" : "e-1");
    }
  }
}

TEST_F(MapperTest, ANullAggregateIdIsNoErrorHere) {
  TestRow row("public", "outbox");
  row.Essentials().Without("aggregate_id").Null("aggregate_id", kTextOid);
  const auto event = Map(row);
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->aggregate_id, std::nullopt);
}

TEST_F(MapperTest, InvalidValuesAreRefusedByNameAndNeverShown) {
  const struct {
    const char* column;
    std::uint32_t oid;
    const char* value;
    const char* message;
  } cases[] = {
      {"payload", kTextOid, "secret\xff", "column 'payload' (text) isn't valid UTF-8"},
      {"headers", kJsonbOid, "[\"secret\"]", "column 'headers' (jsonb) isn't a JSON object"},
      {"headers", kTextOid, "secret", "column 'headers' (text) isn't a JSON object"},
      {"headers", kJsonOid, R"({"secret": "\ud800"})",
       "column 'headers' (json) isn't a JSON object"},
      {"schema_version", kInt8Oid, "2147483648", "column 'schema_version' (int8) is out of range"},
      {"aggregate_version", kTextOid, "secret", "column 'aggregate_version' (text) isn't a whole"},
      {"occurred_at", kTimestamptzOid, "infinity", "outside of the years 1 to 9999"},
      {"occurred_at", kTimestampOid, "0044-03-15 12:00:00 BC", "outside of the years 1 to 9999"},
      {"occurred_at", kTimestamptzOid, "10000-01-01 00:00:00+00", "outside of the years 1 to 9999"},
      {"occurred_at", kTimestamptzOid, "secret", "column 'occurred_at' (timestamptz) doesn't read"},
      {"correlation_id", kUuidOid, "secret", "column 'correlation_id' (uuid) doesn't read"},
  };
  for (const auto& c : cases) {
    TestRow row("public", "outbox");
    row.Essentials().Without(c.column).Text(c.column, c.oid, c.value);
    EXPECT_THAT(Map(row),
                StatusIs(kInvalid, AllOf(HasSubstr("event 'e-1' of table public.outbox: "),
                                         HasSubstr(c.message), Not(HasSubstr("secret")))));
    EXPECT_EQ(mapper_.event_id(), "e-1");
  }
}

TEST_F(MapperTest, ALongIdIsShownInPart) {
  TestRow row("public", "outbox");
  row.Essentials().Without("id").Text("id", kTextOid, "x" + std::string(1000, 'y'));
  row.Without("event_type").Null("event_type", kTextOid);
  EXPECT_THAT(Map(row), StatusIs(kInvalid, HasSubstr("event 'x" + std::string(199, 'y') + "' of")));
}

TEST_F(MapperTest, ColumnsGoBeforeWhatThePayloadSays) {
  TestRow row("public", "outbox");
  row.Essentials()
      .Without("payload")
      .Text("payload", kJsonOid,
            R"({"version":1,"data":0,"metadata":{"correlation_id":"p","causation_id":"\u0070"}})")
      .Text("schema_version", kInt4Oid, "5")
      .Text("correlation_id", kTextOid, "c");
  const auto event = Map(row);
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->schema_version, 5);
  EXPECT_EQ(event->correlation_id, "c");
  EXPECT_EQ(event->causation_id, "p");  // with its escape undone
}

TEST_F(MapperTest, NullColumnsLeaveItToThePayload) {
  TestRow row("public", "outbox");
  row.Essentials()
      .Without("payload")
      .Text("payload", kTextOid, R"({"version":1,"data":0,"metadata":{"correlation_id":"p"}})")
      .Null("schema_version", kInt4Oid)
      .Null("correlation_id", kTextOid);
  const auto event = Map(row);
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(event->schema_version, 1);
  EXPECT_EQ(event->correlation_id, "p");
  EXPECT_EQ(event->causation_id, "");
}

TEST_F(MapperTest, ContentTypeFollowsThePayload) {
  const struct {
    std::uint32_t oid;
    const char* payload;
    const char* content_type;
  } cases[] = {
      {kJsonOid, "1", "application/json"},
      {kJsonbOid, "{}", "application/json"},
      {kByteaOid, "\\x7b7d", "application/octet-stream"},
      {kTextOid, " {\"a\": [1]} ", "application/json"},
      {kVarcharOid, "[]", "application/json"},
      {kBpcharOid, "[]   ", "application/json"},
      {kTextOid, "{\"a\": [1}", "text/plain; charset=utf-8"},
      {kTextOid, "{name}", "text/plain; charset=utf-8"},
      {kTextOid, "12", "text/plain; charset=utf-8"},
      {kTextOid, "\"a\"", "text/plain; charset=utf-8"},
      {kTextOid, "", "text/plain; charset=utf-8"},
      {kTextArrayOid, "{}", "text/plain; charset=utf-8"},
      {kInt4Oid, "12", "text/plain; charset=utf-8"},
  };
  for (const auto& c : cases) {
    TestRow row("public", "outbox");
    row.Essentials().Without("payload").Text("payload", c.oid, c.payload);
    const auto event = Map(row);
    ASSERT_THAT(event, IsOk()) << c.payload;
    EXPECT_EQ(event->content_type, c.content_type) << c.payload;
    row.Text("content_type", kTextOid, "text/csv");
    EXPECT_EQ(Map(row)->content_type, "text/csv");
  }
}

TEST_F(MapperTest, AConstantContentTypeWins) {
  Mapper mapper({.columns = {}, .constants = {{"content_type", "text/csv"}}, .values = {}});
  TestRow row("public", "outbox");
  row.Essentials().Text("content_type", kTextOid, "text/html");
  EXPECT_EQ(mapper.Map(row.row())->content_type, "text/csv");
}

TEST_F(MapperTest, PaddingOfCharNIsNoPartOfAName) {
  TestRow row("public", "outbox");
  row.Essentials().Without("aggregate_type").Text("aggregate_type", kBpcharOid, "order     ");
  EXPECT_EQ(Map(row)->aggregate_type, "order");
}

TEST_F(MapperTest, TracingSpanContextIsAJavaPropertiesText) {
  for (const char* name : {"tracingspancontext", "traceparent"}) {
    TestRow row("public", "outbox");
    row.Essentials().Text(
        name, kTextOid,
        "#Sun Mar 01 10:34:56 UTC 2026\ntracestate=congo\\=t61\\:x\ntraceparent=00-0a-b7-01\n");
    const auto event = Map(row);
    ASSERT_THAT(event, IsOk());
    EXPECT_EQ(event->traceparent, "00-0a-b7-01");
    EXPECT_EQ(event->tracestate, "congo=t61:x");
  }
  TestRow without("public", "outbox");
  without.Essentials().Text("tracingspancontext", kTextOid, "uber-trace-id=1\\:2\\:0\\:1\n");
  EXPECT_EQ(Map(without)->traceparent, "");
}

TEST_F(MapperTest, HeadersKeepOrderAndExactNumbers) {
  TestRow row("public", "outbox");
  row.Essentials().Text(
      "metadata", kJsonOid,
      R"({"z":"\u00e4\n","a":123456789012345678901234567890.10,"\u0062":true,"n":null,"e":"","a":"again"})");
  const auto event = Map(row);
  ASSERT_THAT(event, IsOk());
  EXPECT_EQ(HeadersOf(*event), (Headers{{"z", "ä\n"},
                                        {"a", "123456789012345678901234567890.10"},
                                        {"b", "true"},
                                        {"e", ""},
                                        {"a", "again"}}));
}

TEST_F(MapperTest, HeadersOfOneRowDoNotReachTheNext) {
  TestRow with("public", "outbox");
  with.Essentials().Text("headers", kJsonbOid, R"({"a": "\u00e4"})");
  EXPECT_EQ(HeadersOf(*Map(with)).size(), 1U);
  for (const char* none : {"{}", "null"}) {
    TestRow without("public", "outbox");
    without.Essentials().Text("headers", kJsonbOid, none);
    EXPECT_EQ(HeadersOf(*Map(without)).size(), 0U);
  }
}

TEST_F(MapperTest, AConstantHeadersObjectServesEveryRow) {
  Mapper mapper({.columns = {}, .constants = {{"headers", R"({"team": "a"})"}}, .values = {}});
  TestRow row("public", "outbox");
  row.Essentials();
  EXPECT_EQ(HeadersOf(*mapper.Map(row.row())), (Headers{{"team", "a"}}));
  Mapper broken({.columns = {}, .constants = {{"headers", R"({"a": "\ud800"})"}}, .values = {}});
  EXPECT_THAT(broken.Map(row.row()), StatusIs(kInvalid, HasSubstr("the constant for headers")));
}

TEST_F(MapperTest, AChangedTableIsMappedAnew) {
  TestRow before("public", "outbox");
  before.Essentials();
  TestRow after("public", "outbox");
  after.Text("added", kTextOid, "x").Essentials();
  EXPECT_EQ(Map(before)->event_id, "e-1");
  EXPECT_EQ(Map(after)->event_id, "e-1");
  EXPECT_EQ(Map(before)->event_id, "e-1");
  TestRow gone("public", "outbox");
  gone.Essentials().Without("payload");
  EXPECT_THAT(Map(gone), StatusIs(kPrecondition, HasSubstr("has no column for payload")));
  EXPECT_EQ(mapper_.relation_name(), "");
  EXPECT_EQ(Map(after)->event_id, "e-1");
  EXPECT_EQ(mapper_.relation_name(), "public.outbox");
}

TEST_F(MapperTest, ManyDescriptionsAreForgottenRatherThanKept) {
  std::vector<std::weak_ptr<const capture::Relation>> seen;
  for (std::size_t i = 0; i < 3 * limits::kMappings; ++i) {
    TestRow row("public", "outbox" + std::to_string(i));
    row.Essentials();
    ASSERT_THAT(Map(row), IsOk());
    seen.push_back(row.relation());
  }
  std::size_t kept = 0;
  for (const auto& relation : seen) kept += relation.expired() ? 0 : 1;
  EXPECT_LE(kept, limits::kMappings);
}

TEST_F(MapperTest, ARowThatDoesNotFitItsTableIsRefused) {
  TestRow row("public", "outbox");
  row.Essentials();
  const capture::Row whole = row.row();
  const capture::Row cut{whole.relation, whole.values.first(2)};
  EXPECT_THAT(mapper_.Map(cut), StatusIs(kInvalid, HasSubstr("a row of 2 values for 5 columns")));
}

TEST_F(MapperTest, OptionsThatAreWrongNeverMap) {
  Mapper mapper({.columns = {{"evnt", "x"}}, .constants = {}, .values = {}});
  TestRow row("public", "outbox");
  row.Essentials();
  EXPECT_THAT(mapper.Map(row.row()), StatusIs(kInvalid, HasSubstr("source.columns.evnt")));
}

}  // namespace
}  // namespace walpost::outbox
