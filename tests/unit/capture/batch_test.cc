#include "capture/batch.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace walpost::capture {
namespace {

int frees = 0;
void CountedFree(void* memory) {
  ++frees;
  std::free(memory);
}

std::shared_ptr<const Relation> Table(const std::string& name) {
  return std::make_shared<const Relation>(Relation{RelationOid(1), "public", name, {}});
}

TEST(Batch, RowsKeepTheRelationTheyWereDescribedBy) {
  Batch batch;
  const auto before = Table("before");
  const auto after = Table("after");
  const Value first[] = {{Value::Kind::kText, "a"}, {Value::Kind::kNull, ""}};
  const Value second[] = {{Value::Kind::kBinary, "bcd"}};
  batch.Add(before, first);
  batch.Add(after, second);
  batch.Add(after, second);
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch.row(0).relation, before);
  EXPECT_EQ(batch.row(0).values.size(), 2U);
  EXPECT_EQ(batch.row(0).values[0].bytes, "a");
  EXPECT_EQ(batch.row(2).relation, after);
  EXPECT_EQ(batch.row(2).values[0].bytes, "bcd");
  EXPECT_EQ(batch.bytes(), 7U);
}

TEST(Batch, ClearFreesWhatWasAdoptedOnce) {
  frees = 0;
  Batch batch;
  batch.Adopt(static_cast<char*>(std::malloc(8)), &CountedFree);
  batch.Add(Table("t"), {});
  batch.release = Position(7);
  batch.Clear();
  EXPECT_EQ(frees, 1);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.bytes(), 0U);
  EXPECT_FALSE(batch.release.has_value());
  batch.Clear();
  EXPECT_EQ(frees, 1);
}

}  // namespace
}  // namespace walpost::capture
