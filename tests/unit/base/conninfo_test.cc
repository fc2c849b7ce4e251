#include "base/conninfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/pq.h"
#include "base/status.h"
#include "status_is.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

ConnectionFlags Flags(std::string dsn, std::string host = "", std::string port = "",
                      std::string user = "") {
  return {std::move(dsn), std::move(host), std::move(port), std::move(user)};
}

TEST(ConninfoTest, NothingSaidIsNothingChanged) {
  EXPECT_EQ(ApplyConnectionFlags("", {}), "");
  EXPECT_EQ(ApplyConnectionFlags("service=orders", {}), "service=orders");
  EXPECT_EQ(ApplyConnectionFlags("postgresql://h/db?x=y", {}), "postgresql://h/db?x=y");
}

TEST(ConninfoTest, APlainNameIsADatabase) {
  EXPECT_EQ(ApplyConnectionFlags("", Flags("app")), "dbname='app'");
  EXPECT_EQ(ApplyConnectionFlags("app", {}), "dbname='app'");
  EXPECT_EQ(ApplyConnectionFlags("host=h dbname=a", Flags("b")), "host=h dbname=a dbname='b'");
  EXPECT_EQ(ApplyConnectionFlags("postgres://h/a", Flags("b")), "postgres://h/a?dbname=b");
}

TEST(ConninfoTest, AConnectionStringReplacesTheConfiguredOne) {
  EXPECT_EQ(ApplyConnectionFlags("host=h", Flags("port=1")), "port=1");
  EXPECT_EQ(ApplyConnectionFlags("host=h", Flags("postgres://x/")), "postgres://x/");
}

TEST(ConninfoTest, HostPortAndUserComeLastAndWin) {
  EXPECT_EQ(ApplyConnectionFlags("", Flags("", "/run/postgresql", "5433", "o'neil\\")),
            "host='/run/postgresql' port='5433' user='o\\'neil\\\\'");
  EXPECT_EQ(
      ApplyConnectionFlags("postgresql:///app?sslmode=require", Flags("", "/run/pg", "", "a&b")),
      "postgresql:///app?sslmode=require&host=%2Frun%2Fpg&user=a%26b");
}

TEST(ConninfoTest, LibpqUnderstandsEveryResult) {
  for (const char* dsn :
       {"", "app", "host=h dbname=a", "postgres://u@h:1/a", "postgresql:///a?host=/s"}) {
    for (const char* given : {"", "we'ird \\name", "host=x", "postgres://y/z"}) {
      const std::string result = ApplyConnectionFlags(dsn, Flags(given, "h ost'", "5432", "ü/ser"));
      EXPECT_THAT(CheckDsn(result), IsOk()) << result;
    }
  }
}

TEST(ConninfoTest, APasswordOnTheCommandLineIsRefusedAndNotRepeated) {
  for (const char* dsn : {"password=CANARY", "host=h password = CANARY", "postgres://u:CANARY@h/db",
                          "postgresql://u@h/db?password=CANARY", "host=h sslpassword=CANARY",
                          "postgresql://u:CA:NARY@h1,h2/db"}) {
    const absl::Status status = CheckConnectionFlags(Flags(dsn));
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--dsn holds a password")))
        << dsn;
    EXPECT_THAT(std::string(MessageOf(status)), Not(HasSubstr("CANARY")));
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
    EXPECT_THAT(HintOf(status), HasSubstr("passfile"));
  }
}

TEST(ConninfoTest, WhatOnlyLooksLikeAPasswordPasses) {
  for (const char* dsn : {"", "app", "passfile=/x", "dbname=password", "postgres://u@h:5432/db",
                          "postgres://h/a:b@c", "postgres://[::1]:5432/db"}) {
    EXPECT_THAT(CheckConnectionFlags(Flags(dsn)), IsOk()) << dsn;
  }
}

// Catches: a password that ends its own setting, and becomes another host.
TEST(EscapeIntoDsn, AValueStaysAValue) {
  EXPECT_EQ(EscapeIntoDsn("", "host=a user=b"), "host=a user=b");  // a whole string
  EXPECT_EQ(EscapeIntoDsn("host=a password=", "p x hostaddr=6.6.6.6"), "'p x hostaddr=6.6.6.6'");
  EXPECT_EQ(EscapeIntoDsn("password= ", "a'b\\c"), "'a\\'b\\\\c'");
  EXPECT_EQ(EscapeIntoDsn("password='x", "a'b"), "a\\'b");
  EXPECT_EQ(EscapeIntoDsn("postgresql://u:", "p@ss/w"), "p%40ss%2Fw");
  EXPECT_EQ(EscapeIntoDsn("host=a ", "user=b"), "user=b");
  EXPECT_EQ(EscapeIntoDsn("postgresql://u@", "db:5432"), "db:5432");
  EXPECT_EQ(EscapeIntoDsn("postgresql://u@db/", "a b"), "a%20b");
  EXPECT_EQ(EscapeIntoDsn("options=-csearch_path=", "app"), "app");
}

}  // namespace
}  // namespace walpost
