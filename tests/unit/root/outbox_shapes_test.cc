#include "outbox_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(OutboxShapesTest, LettersRunFromAToG) {
  std::string letters;
  for (const OutboxShape& shape : OutboxShapes()) {
    letters += shape.letter;
    EXPECT_EQ(FindOutboxShape(std::string(1, shape.letter)), &shape);
    EXPECT_FALSE(shape.about.empty());
  }
  EXPECT_EQ(letters, "ABCDEFG");
  for (const char* none : {"", "a", "H", "AB"}) EXPECT_EQ(FindOutboxShape(none), nullptr);
}

TEST(OutboxShapesTest, ColumnsAreReadFromTheDefinition) {
  EXPECT_THAT(ColumnsOf(*FindOutboxShape("E")),
              ElementsAre("id", "aggregatetype", "aggregateid", "type", "payload"));
  EXPECT_THAT(
      ColumnsOf(*FindOutboxShape("G")),
      ElementsAre("id", "aggregate_type", "aggregate_id", "event_type", "payload", "occurred_at"));
  for (const OutboxShape& shape : OutboxShapes())
    EXPECT_THAT(ColumnsOf(shape), Contains("payload"));
}

TEST(OutboxShapesTest, EveryStatementUsesTheQuotedNameOfTheTable) {
  for (const OutboxShape& shape : OutboxShapes()) {
    const std::string sql = CreateTableSql(shape, {"My Schema", "out\"box"});
    EXPECT_THAT(sql, HasSubstr("CREATE TABLE \"My Schema\".\"out\"\"box\" (\n"));
    EXPECT_THAT(sql, Not(HasSubstr("@")));
    EXPECT_EQ(sql.substr(sql.size() - 2), ";\n");
  }
}

TEST(OutboxShapesTest, ATypeOrPartitionStandsBesideItsTable) {
  EXPECT_THAT(CreateTableSql(*FindOutboxShape("C"), {"s", "t"}),
              HasSubstr("CREATE TYPE \"s\".\"t_kind\" AS ENUM"));
  EXPECT_THAT(CreateTableSql(*FindOutboxShape("C"), {"s", "t"}),
              HasSubstr("event_type \"s\".\"t_kind\" NOT"));
  EXPECT_THAT(
      CreateTableSql(*FindOutboxShape("G"), {"s", "t"}),
      HasSubstr("PARTITION BY RANGE (occurred_at);\nCREATE TABLE \"s\".\"t_default\" PARTITION OF "
                "\"s\".\"t\" DEFAULT;"));
}

TEST(OutboxShapesTest, ANameBesideALongOneIsCutToWhatPostgresKeeps) {
  const std::string longest(63, 'x');
  EXPECT_THAT(CreateTableSql(*FindOutboxShape("C"), {"s", longest}),
              HasSubstr("\"s\".\"" + std::string(58, 'x') + "_kind\""));
  // 58 bytes would end inside of a two-byte character.
  EXPECT_THAT(
      CreateTableSql(*FindOutboxShape("C"), {"s", std::string(57, 'x') + "\xC3\xA4\xC3\xA4"}),
      HasSubstr("\"s\".\"" + std::string(57, 'x') + "_kind\""));
}

}  // namespace
}  // namespace walpost
