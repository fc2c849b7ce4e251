#include "capture/wal/pgoutput/relation_cache.h"

#include <gtest/gtest.h>

namespace walpost::capture::pgoutput {
namespace {

RelationDescription Described(const char* schema, std::vector<RelationColumn> columns) {
  return {RelationOid(16384), schema, "outbox", std::move(columns)};
}

TEST(RelationCache, AnUnknownRelationIsNone) {
  const RelationCache cache;
  EXPECT_EQ(cache.Find(RelationOid(1)), nullptr);
}

TEST(RelationCache, AnIdenticalRepeatKeepsTheObject) {
  RelationCache cache;
  cache.Learn(Described("public", {{"id", 2950, -1}}));
  const auto first = *cache.Find(RelationOid(16384));
  cache.Learn(Described("public", {{"id", 2950, -1}}));
  EXPECT_EQ(*cache.Find(RelationOid(16384)), first);
}

TEST(RelationCache, AnyChangeIsANewObject) {
  RelationCache cache;
  cache.Learn(Described("public", {{"id", 2950, -1}}));
  const auto first = *cache.Find(RelationOid(16384));
  cache.Learn(Described("public", {{"id", 2950, -1}, {"extra", 25, -1}}));
  const auto second = *cache.Find(RelationOid(16384));
  EXPECT_NE(second, first);
  EXPECT_EQ(first->columns.size(), 1U);  // rows described by it still are
  EXPECT_EQ(second->columns.size(), 2U);
}

TEST(RelationCache, TypesNameTheColumnsThatUseThem) {
  RelationCache cache;
  cache.Learn(Type{20001, "public", "mood"});
  cache.Learn(Type{20002, "", "varchar"});  // a domain: its base type
  cache.Learn(Described("", {{"a", 20001, -1}, {"b", 20002, 24}, {"c", 25, -1}}));
  const Relation& relation = **cache.Find(RelationOid(16384));
  EXPECT_EQ(relation.schema, "pg_catalog");
  EXPECT_EQ(relation.columns[0].type_name, "mood");
  EXPECT_EQ(relation.columns[0].type_schema, "public");
  EXPECT_EQ(relation.columns[1].type_name, "varchar");
  EXPECT_EQ(relation.columns[1].type_schema, "");
  EXPECT_EQ(relation.columns[2].type_name, "");
}

}  // namespace
}  // namespace walpost::capture::pgoutput
