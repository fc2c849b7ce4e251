#include "outbox/mapping_plan.h"

#include <gtest/gtest.h>

#include "unit/outbox/support.h"

namespace walpost::outbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The column a field is taken from: "" for none, "='…'" for a constant.
std::string ColumnFor(const MappingPlan& plan, Field field) {
  const FieldSource& source = plan.source(field);
  if (source.constant != nullptr) return "='" + *source.constant + "'";
  return source.reader ? source.reader->column().name : "";
}

absl::StatusOr<MappingPlan> PlanFor(TestRow& row, const MappingOptions& options = {}) {
  return MakeMappingPlan(row.relation(), options);
}

TEST(MappingPlan, NamesAreRecognisedInAnyCaseWithOrWithoutUnderscores) {
  for (const FieldInfo& info : Fields()) {
    for (const std::string_view synonym : info.synonyms) {
      if (synonym.empty()) continue;
      std::string upper(synonym);
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      std::string spread;
      for (const char c : synonym) (spread += c) += '_';
      for (const std::string& name : {std::string(synonym), upper, spread}) {
        const std::uint32_t oid = info.form == FieldForm::kInteger ? kInt4Oid
                                  : info.form == FieldForm::kTime  ? kTimestamptzOid
                                                                   : kJsonbOid;
        TestRow row("public", "outbox");
        row.Essentials().Without("id").Without(info.name);
        if (info.field != Field::kEventId) row.Text("event_id", kTextOid, "e-1");
        row.Text(name, oid, "");
        const auto plan = PlanFor(row);
        ASSERT_THAT(plan, IsOk()) << name;
        EXPECT_EQ(ColumnFor(*plan, info.field), name);
      }
    }
  }
}

TEST(MappingPlan, EventIdWinsOverId) {
  TestRow row("public", "outbox");
  row.Essentials().Text("event_id", kTextOid, "x").Text("type", kTextOid, "y");
  const auto plan = PlanFor(row);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(ColumnFor(*plan, Field::kEventId), "event_id");
  EXPECT_EQ(ColumnFor(*plan, Field::kEventType), "event_type");
}

TEST(MappingPlan, WithoutAnAggregateTypeItIsTheTablesName) {
  TestRow row("public", "Orders");
  row.Essentials().Without("aggregate_type");
  auto plan = PlanFor(row);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(ColumnFor(*plan, Field::kAggregateType), "='Orders'");
  const MappingOptions options{
      .columns = {}, .constants = {{"aggregate_type", "order"}}, .values = {}};
  plan = PlanFor(row, options);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(ColumnFor(*plan, Field::kAggregateType), "='order'");
}

TEST(MappingPlan, AMissingRequiredColumnIsNamedWithTheKeyToSet) {
  const struct {
    const char* column;
    const char* field;
    const char* looked_for;
  } cases[] = {{"id", "event_id", "(looked for event_id or id)"},
               {"event_type", "event_type", "(looked for event_type or type)"},
               {"aggregate_id", "aggregate_id", "(looked for aggregate_id)"},
               {"payload", "payload", "(looked for payload)"}};
  for (const auto& c : cases) {
    TestRow row("shop", "outbox");
    row.Essentials().Without(c.column);
    const auto plan = PlanFor(row);
    EXPECT_THAT(plan,
                StatusIs(kPrecondition, AllOf(HasSubstr("table shop.outbox has no column for "),
                                              HasSubstr(c.field), HasSubstr(c.looked_for))));
    EXPECT_THAT(HintOf(plan.status()), HasSubstr(std::string("source.columns.") + c.field));
  }
}

TEST(MappingPlan, ConfiguredColumnsGoBeforeNames) {
  TestRow row("public", "outbox");
  row.Essentials().Text("Kind", kTextOid, "k");
  const MappingOptions options{.columns = {{"event_type", "kind"}}, .constants = {}, .values = {}};
  const auto plan = PlanFor(row, options);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(ColumnFor(*plan, Field::kEventType), "Kind");
}

TEST(MappingPlan, AConfiguredColumnOfThatExactNameIsPreferred) {
  TestRow row("public", "outbox");
  row.Essentials().Text("KIND", kTextOid, "k").Text("kind", kTextOid, "k");
  MappingOptions options{.columns = {{"event_type", "kind"}}, .constants = {}, .values = {}};
  EXPECT_EQ(ColumnFor(*PlanFor(row, options), Field::kEventType), "kind");
  options.columns["event_type"] = "Kind";
  EXPECT_THAT(PlanFor(row, options), StatusIs(kPrecondition, HasSubstr("'KIND' and 'kind'")));
}

TEST(MappingPlan, AConfiguredColumnMustExist) {
  TestRow row("public", "outbox");
  row.Essentials();
  const MappingOptions options{.columns = {{"event_type", "kind"}}, .constants = {}, .values = {}};
  EXPECT_THAT(PlanFor(row, options),
              StatusIs(kPrecondition, HasSubstr("table public.outbox has no column 'kind', which "
                                                "source.columns.event_type names")));
}

TEST(MappingPlan, TwoColumnsOfOneNameMustBeToldApart) {
  TestRow row("public", "outbox");
  row.Essentials().Text("AggregateId", kTextOid, "x");
  const auto plan = PlanFor(row);
  EXPECT_THAT(plan,
              StatusIs(kPrecondition,
                       HasSubstr("'aggregate_id' and 'AggregateId' could both be aggregate_id")));
  EXPECT_THAT(HintOf(plan.status()), HasSubstr("source.columns.aggregate_id"));
}

// A column may be added for something else, and must not stop the relay; one that was asked for does.
TEST(MappingPlan, AnUnsuitedColumnIsIgnoredUnlessTheConfigurationNamesIt) {
  const struct {
    const char* name;
    std::uint32_t oid;
    const char* field;
  } cases[] = {{"created_at", kInt8Oid, "occurred_at"},
               {"metadata", kByteaOid, "headers"},
               {"schema_version", kBoolOid, "schema_version"},
               {"traceparent", kPointOid, "traceparent"}};
  for (const auto& c : cases) {
    TestRow row("public", "outbox");
    row.Essentials().Text(c.name, c.oid, "");
    const auto without = PlanFor(row);
    ASSERT_THAT(without, IsOk()) << c.name;
    EXPECT_EQ(ColumnFor(*without, *FindField(c.field)), "");
    const MappingOptions options{.columns = {{c.field, c.name}}, .constants = {}, .values = {}};
    EXPECT_THAT(
        PlanFor(row, options),
        StatusIs(kPrecondition, AllOf(HasSubstr("table public.outbox: column '"), HasSubstr(c.name),
                                      HasSubstr(std::string("can't give ") + c.field))));
  }
}

TEST(CheckMappingOptions, ARequiredFieldCannotBeDoneWithout) {
  const MappingOptions options{.columns = {{"payload", ""}}, .constants = {}, .values = {}};
  EXPECT_THAT(CheckMappingOptions(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                                     HasSubstr("source.columns.payload is empty")));
}

TEST(MappingPlan, ConstantsStandForColumns) {
  TestRow row("public", "outbox");
  row.Essentials().Without("payload").Text("schema_version", kInt4Oid, "1");
  const MappingOptions options{
      .columns = {}, .constants = {{"payload", ""}, {"schema_version", "9"}}, .values = {}};
  const auto plan = PlanFor(row, options);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(ColumnFor(*plan, Field::kPayload), "=''");
  EXPECT_EQ(plan->source(Field::kSchemaVersion).integer, 9);
}

TEST(CheckMappingOptions, NamesTheKeyAndItsFault) {
  const struct {
    MappingOptions options;
    const char* message;
  } cases[] = {
      {{.columns = {{"evnt", "x"}}, .constants = {}, .values = {}}, "source.columns.evnt"},
      {{.columns = {}, .constants = {{"evnt", "x"}}, .values = {}}, "source.constants.evnt"},
      {{.columns = {}, .constants = {}, .values = {{"evnt", {}}}}, "source.values.evnt"},
      {{.columns = {{"event_type", "x"}}, .constants = {{"event_type", "x"}}, .values = {}},
       "source.columns.event_type and source.constants.event_type exclude each other"},
      {{.columns = {}, .constants = {{"event_id", "x"}}, .values = {}},
       "source.constants.event_id would be the same"},
      {{.columns = {}, .constants = {{"occurred_at", "x"}}, .values = {}},
       "source.constants.occurred_at would be the same"},
      {{.columns = {}, .constants = {{"schema_version", "1.0"}}, .values = {}},
       "source.constants.schema_version isn't a whole number in range"},
      {{.columns = {}, .constants = {{"schema_version", "2147483648"}}, .values = {}},
       "source.constants.schema_version isn't a whole number in range"},
      {{.columns = {}, .constants = {{"headers", "[]"}}, .values = {}},
       "source.constants.headers isn't a JSON object"},
      {{.columns = {}, .constants = {{"event_type", ""}}, .values = {}},
       "source.constants.event_type is empty"},
      {{.columns = {}, .constants = {{"content_type", "\xff"}}, .values = {}},
       "source.constants.content_type isn't valid UTF-8"},
      {{.columns = {}, .constants = {}, .values = {{"payload", {{"0", "x"}}}}},
       "source.values.payload: only text fields"},
      {{.columns = {}, .constants = {}, .values = {{"event_type", {{"0", ""}}}}},
       "source.values.event_type: the name for a value is empty"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(CheckMappingOptions(c.options), StatusIs(kInvalid, HasSubstr(c.message)));
  }
  EXPECT_THAT(CheckMappingOptions({}), IsOk());
}

}  // namespace
}  // namespace walpost::outbox
