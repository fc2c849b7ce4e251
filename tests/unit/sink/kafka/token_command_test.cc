#include "sink/kafka/token_command.h"

#include <gmock/gmock.h>

#include "support/status_is.h"

namespace walpost::sink::kafka {
namespace {

using ::testing::HasSubstr;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

const absl::Time kNow = absl::FromUnixSeconds(1000);

TEST(ParseToken, TakesWhatTheCommandPrints) {
  const auto token = ParseToken(
      "{\"token\":\"a.b.\",\"expires_at\":1000.5,\"principal\":\"walpost\",\"more\":1}\n", kNow);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->value, "a.b.");
  EXPECT_EQ(token->principal, "walpost");
  EXPECT_EQ(token->expires_at, kNow + absl::Milliseconds(500));
}

TEST(ParseToken, SaysWhatIsWrongWithoutRepeatingIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no JSON object"},
      {"S3CR3T", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"expires_at":2000})", "no \"token\""},
      {R"({"token":"S3CR3T"})", "no \"expires_at\""},
      {R"({"token":"S3CR3T","expires_at":"soon"})", "no \"expires_at\""},
      {R"({"token":"S3CR3T","expires_at":1000})", "has expired"},
  };
  for (const auto& [text, fault] : cases) {
    const auto token = ParseToken(text, kNow);
    EXPECT_THAT(token, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(fault))) << text;
    EXPECT_EQ(token.status().message().find("S3CR3T"), absl::string_view::npos) << text;
  }
}

}  // namespace
}  // namespace walpost::sink::kafka
