#include "interpolation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "base/limits.h"
#include "status_is.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class InterpolationTest : public ::testing::Test {
 protected:
  // A file of the test's own directory, readable by its owner only unless `mode` says otherwise.
  std::string File(const std::string& name, const std::string& content, mode_t mode = 0600) {
    const std::string path = ::testing::TempDir() + "walpost_interpolation_" + name;
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string Expand(const std::string& text) {
    const auto expanded = ExpandReferences(text, environment_);
    EXPECT_TRUE(expanded.ok()) << expanded.status();
    return expanded.value_or("");
  }
  absl::Status Refusal(const std::string& text) {
    return ExpandReferences(text, environment_).status();
  }

  Environment environment_ = {{"HOST", "db1"}, {"EMPTY", ""}, {"NESTED", "${HOST}"}, {"D", "cred"}};
};

TEST_F(InterpolationTest, VariablesAreReplacedWhereverTheyStand) {
  EXPECT_EQ(Expand("host=${HOST} port=5432"), "host=db1 port=5432");
  EXPECT_EQ(Expand("${HOST}${HOST}"), "db1db1");
  EXPECT_EQ(Expand(""), "");
}

TEST_F(InterpolationTest, ADollarWithoutBracesIsLeftAlone) {
  for (const char* text : {"$HOST", "pa$$word", "$", "a$", "$5", "{HOST}", "}{", "$ {HOST}"}) {
    EXPECT_EQ(Expand(text), text);
  }
}

TEST_F(InterpolationTest, TwoDollarsStandForALiteralReference) {
  EXPECT_EQ(Expand("$${HOST}"), "${HOST}");
  EXPECT_EQ(Expand("$${HOST} ${HOST}"), "${HOST} db1");
}

TEST_F(InterpolationTest, ADefaultStandsInForAbsentAndEmpty) {
  EXPECT_EQ(Expand("${PORT:-5432}"), "5432");
  EXPECT_EQ(Expand("${EMPTY:-x}"), "x");
  EXPECT_EQ(Expand("${HOST:-x}"), "db1");
  EXPECT_EQ(Expand("${PORT:-}"), "");
  EXPECT_EQ(Expand("${PORT:-${HOST}}"), "db1");
  EXPECT_EQ(Expand("${A:-a:-b}"), "a:-b");
}

TEST_F(InterpolationTest, AnAbsentVariableWithoutDefaultIsAnError) {
  EXPECT_THAT(Refusal("${PORT}"), StatusIs(kInvalid, AllOf(HasSubstr("PORT is not set"),
                                                           HasSubstr("${PORT:-default}"))));
  EXPECT_EQ(Expand("${EMPTY}"), "");  // set, to nothing
}

TEST_F(InterpolationTest, WhatComesOutIsNotExpandedAgain) {
  EXPECT_EQ(Expand("${NESTED}"), "${HOST}");
}

TEST_F(InterpolationTest, MalformedReferencesAreErrors) {
  EXPECT_THAT(Refusal("${HOST"), StatusIs(kInvalid, HasSubstr("without its }")));
  EXPECT_THAT(Refusal("${A:-${HOST}"), StatusIs(kInvalid, HasSubstr("without its }")));
  for (const char* text : {"${}", "${HO ST}", "${HOST:x}", "${-x}", "${env:HOST}"}) {
    EXPECT_THAT(Refusal(text), StatusIs(kInvalid, HasSubstr("a reference is"))) << text;
  }
}

TEST_F(InterpolationTest, DepthIsBounded) {
  std::string text = "x";
  for (int i = 0; i < limits::kReferenceDepth + 2; ++i) text = "${A:-" + text + "}";
  EXPECT_THAT(Refusal(text), StatusIs(kInvalid, HasSubstr("nested too deeply")));
}

TEST_F(InterpolationTest, AFileIsTakenWithoutItsLastNewline) {
  EXPECT_EQ(Expand("password=${file:" + File("secret", "hunter2\n") + "}"), "password=hunter2");
  EXPECT_EQ(Expand("${file:" + File("crlf", "hunter2\r\n") + "}"), "hunter2");
  EXPECT_EQ(Expand("${file:" + File("two", "a\nb\n\n") + "}"), "a\nb\n");
  EXPECT_EQ(Expand("${file:" + File("group", "x", 0640) + "}"), "x");
}

TEST_F(InterpolationTest, APathMayHoldAReference) {
  const std::string path = File("cred", "v");
  environment_["DIRECTORY"] = path.substr(0, path.rfind('/'));
  EXPECT_EQ(Expand("${file:${DIRECTORY}/walpost_interpolation_cred}"), "v");
}

TEST_F(InterpolationTest, AFileIsNotExpanded) {
  EXPECT_EQ(Expand("${file:" + File("literal", "${HOST}") + "}"), "${HOST}");
}

TEST_F(InterpolationTest, UnfitFilesAreErrorsThatNameThePathAndNotTheContent) {
  EXPECT_THAT(Refusal("${file:/nonexistent/x}"),
              StatusIs(kInvalid, HasSubstr("can't read /nonexistent/x: No such file")));
  EXPECT_THAT(Refusal("${file:" + ::testing::TempDir() + "}"),
              StatusIs(kInvalid, HasSubstr("not a regular file")));
  EXPECT_THAT(Refusal("${file:" + File("empty", "") + "}"),
              StatusIs(kInvalid, HasSubstr("is empty")));
  EXPECT_THAT(Refusal("${file:" + File("newline", "\n") + "}"),
              StatusIs(kInvalid, HasSubstr("is empty")));
  EXPECT_THAT(Refusal("${file:" + File("open", "S3CR3T-CANARY", 0644) + "}"),
              StatusIs(kInvalid, AllOf(HasSubstr("run chmod 0400"), Not(HasSubstr("CANARY")))));
  EXPECT_THAT(
      Refusal("${file:" + File("large", std::string(limits::kValueFileBytes + 1, 'x')) + "}"),
      StatusIs(kInvalid, HasSubstr("larger than")));
  EXPECT_EQ(
      Expand("${file:" + File("full", std::string(limits::kValueFileBytes, 'x')) + "}").size(),
      limits::kValueFileBytes);
}

}  // namespace
}  // namespace walpost
