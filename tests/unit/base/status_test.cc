#include "base/status.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

TEST(StatusTest, EachCodeStandsForAnExitCode) {
  struct Case {
    absl::StatusCode code;
    ExitCode exit;
  };
  const Case cases[] = {
      {absl::StatusCode::kUnavailable, ExitCode::kUnavailable},
      {absl::StatusCode::kDeadlineExceeded, ExitCode::kUndelivered},
      {absl::StatusCode::kPermissionDenied, ExitCode::kNoPermission},
      {absl::StatusCode::kUnauthenticated, ExitCode::kNoPermission},
      {absl::StatusCode::kDataLoss, ExitCode::kData},
      {absl::StatusCode::kInvalidArgument, ExitCode::kData},
      {absl::StatusCode::kAborted, ExitCode::kData},
      {absl::StatusCode::kFailedPrecondition, ExitCode::kConfiguration},
      {absl::StatusCode::kInternal, ExitCode::kInternal},
      {absl::StatusCode::kUnknown, ExitCode::kInternal},
  };
  for (const Case& c : cases)
    EXPECT_EQ(ExitCodeOf(Error(c.code, "x")), c.exit) << static_cast<int>(c.code);
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
}

TEST(StatusTest, AnAttachedExitCodeGoesBeforeTheOneOfTheCode) {
  const absl::Status status =
      WithExitCode(Error(absl::StatusCode::kFailedPrecondition, "slot vanished"), ExitCode::kData);
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kData);
}

TEST(StatusTest, ContextGoesBeforeTheMessageAndKeepsHintAndExitCode) {
  const absl::Status inner =
      WithExitCode(WithHint(Error(absl::StatusCode::kDataLoss, "gap"), "compare the table"),
                   ExitCode::kConfiguration);
  const absl::Status outer = WithContext(inner, "slot 'orders'");
  EXPECT_EQ(outer.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(MessageOf(outer), "slot 'orders': gap");
  EXPECT_EQ(HintOf(outer), "compare the table");
  EXPECT_EQ(ExitCodeOf(outer), ExitCode::kConfiguration);
}

TEST(StatusTest, ANewerHintReplacesTheOlder) {
  const absl::Status status = WithHint(WithHint(Error(absl::StatusCode::kInternal, "x"), "a"), "b");
  EXPECT_EQ(HintOf(status), "b");
  EXPECT_EQ(HintOf(Error(absl::StatusCode::kInternal, "x")), "");
}

TEST(StatusTest, OkStaysOk) {
  EXPECT_TRUE(WithContext(absl::OkStatus(), "context").ok());
  EXPECT_TRUE(WithHint(absl::OkStatus(), "hint").ok());
  EXPECT_TRUE(WithExitCode(absl::OkStatus(), ExitCode::kData).ok());
}

absl::StatusOr<int> Half(int number) {
  if (number % 2 != 0) return Error(absl::StatusCode::kInvalidArgument, "odd");
  return number / 2;
}

absl::StatusOr<int> Quarter(int number) {
  ASSIGN_OR_RETURN(const int half, Half(number));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status Check(int number) {
  RETURN_IF_ERROR(Quarter(number).status());
  return Error(absl::StatusCode::kCancelled, "reached the end");
}

TEST(StatusTest, MacrosReturnTheFirstErrorAndElseGoOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check(6).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check(8).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace walpost
