#include "outbox/wrapped_payload.h"

#include <gtest/gtest.h>

namespace walpost::outbox {
namespace {

WrappedPayload Read(std::string_view json) {
  WrappedPayload payload;
  ReadWrappedPayload(json, payload);
  return payload;
}

TEST(WrappedPayload, GivesVersionAndIds) {
  const WrappedPayload payload = Read(
      R"({"version": 2, "data": {}, "metadata": {"causation_id": "c-1", "correlation_id": "r-1"}})");
  EXPECT_EQ(payload.version, 2);
  EXPECT_EQ(payload.correlation_id, "r-1");
  EXPECT_EQ(payload.causation_id, "c-1");
}

TEST(WrappedPayload, KnowsCamelCaseAndAnyOrder) {
  const WrappedPayload payload = Read(
      R"({"metadata": {"correlationId": "r", "causationId": "c"}, "other": 0, "data": null, "version": -1})");
  EXPECT_EQ(payload.version, -1);
  EXPECT_EQ(payload.correlation_id, "r");
  EXPECT_EQ(payload.causation_id, "c");
}

TEST(WrappedPayload, MetadataMayBeAbsentOrNull) {
  EXPECT_EQ(Read(R"({"version": 1, "data": 1})").version, 1);
  EXPECT_EQ(Read(R"({"version": 1, "data": 1, "metadata": null})").version, 1);
}

TEST(WrappedPayload, LeavesOtherJsonAlone) {
  for (const char* json :
       {R"({"version": 1})", R"({"version": "1", "data": 1})", R"({"version": 1.0, "data": 1})",
        R"({"version": 2147483648, "data": 1})", R"({"data": 1, "metadata": {}})",
        R"({"version": 1, "data": 1, "metadata": []})", R"([{"version": 1, "data": 1}])",
        R"({"x": {"version": 1, "data": 1}})", R"({"version": 1, "data": 1)", "1", ""}) {
    EXPECT_EQ(Read(json).version, std::nullopt) << json;
  }
}

TEST(WrappedPayload, TakesOnlyStringsAsIds) {
  const WrappedPayload payload =
      Read(R"({"version": 1, "data": 1, "metadata": {"correlation_id": 7, "causation_id": null}})");
  EXPECT_EQ(payload.correlation_id, "");
  EXPECT_EQ(payload.causation_id, "");
}

TEST(WrappedPayload, TheLastOfEqualNamesCounts) {
  EXPECT_EQ(Read(R"({"version": 1, "version": 2, "data": 1})").version, 2);
}

TEST(WrappedPayload, SaysWhatTheTextIs) {
  WrappedPayload payload;
  EXPECT_EQ(ReadWrappedPayload("{}", payload), JsonShape::kObject);
  EXPECT_EQ(ReadWrappedPayload("[]", payload), JsonShape::kArray);
  EXPECT_EQ(ReadWrappedPayload("{", payload), JsonShape::kMalformed);
}

TEST(WrappedPayload, TheQuickLookMissesNoWrappedPayload) {
  EXPECT_TRUE(MayBeWrapped(R"({"version": 1, "data": 1})"));
  EXPECT_FALSE(MayBeWrapped(R"({"versions": 1, "data": 1})"));
  EXPECT_FALSE(MayBeWrapped(""));
}

}  // namespace
}  // namespace walpost::outbox
