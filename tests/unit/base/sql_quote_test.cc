#include "base/sql_quote.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(SqlQuoteTest, QuotesAreDoubled) {
  EXPECT_EQ(QuoteIdentifier("outbox"), "\"outbox\"");
  EXPECT_EQ(QuoteIdentifier("a\"b\\c'd"), "\"a\"\"b\\c'd\"");
  EXPECT_EQ(QuoteTable("s.t", "u"), "\"s.t\".\"u\"");
  EXPECT_EQ(QuoteLiteral("it's"), "'it''s'");
  EXPECT_EQ(QuoteLiteral("a\\'b"), "E'a\\\\''b'");
  EXPECT_EQ(QuoteLiteral(""), "''");
}

}  // namespace
}  // namespace walpost
