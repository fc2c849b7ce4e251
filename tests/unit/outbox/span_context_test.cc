#include "outbox/span_context.h"

#include <gtest/gtest.h>

namespace walpost::outbox {
namespace {

std::string Of(std::string_view properties) {
  std::string scratch;
  return std::string(PropertyOf(properties, "traceparent", scratch));
}

TEST(SpanContext, FindsTheLine) {
  EXPECT_EQ(Of("traceparent=00-a"), "00-a");
  EXPECT_EQ(Of("#comment\r\nx=1\r\n traceparent = 00-a \r\ny=2"), "00-a");
  EXPECT_EQ(Of("traceparent: 00-a\n"), "00-a");
}

TEST(SpanContext, UndoesEscapes) { EXPECT_EQ(Of("traceparent=a\\=b\\\\c\\:\n"), "a=b\\c:"); }

TEST(SpanContext, FindsNothingWhereNothingIs) {
  for (const char* text :
       {"", "\n\n", "traceparent", "xtraceparent=1", "traceparents=1", "=1", "traceparent="}) {
    EXPECT_EQ(Of(text), "") << text;
  }
}

}  // namespace
}  // namespace walpost::outbox
