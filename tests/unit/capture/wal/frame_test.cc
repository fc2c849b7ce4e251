#include "capture/wal/frame.h"

#include <gtest/gtest.h>

#include "status_is.h"
#include "wire.h"

namespace walpost::capture {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::Wire;

TEST(Frame, XLogDataViewsItsPayload) {
  const std::string bytes =
      Wire().Byte('w').Int64(0x1600000001).Int64(0x1600000001).Int64(0).Raw("payload").bytes();
  const auto frame = ParseFrame(bytes);
  ASSERT_TRUE(frame.ok());
  const auto& data = std::get<XLogData>(*frame);
  EXPECT_EQ(data.data_start, Lsn(0x1600000001));
  EXPECT_EQ(data.payload, "payload");
  EXPECT_EQ(data.payload.data(), bytes.data() + 25);
}

TEST(Frame, Keepalive) {
  for (const int reply : {0, 1}) {
    const auto frame = ParseFrame(Wire().Byte('k').Int64(~0ULL).Int64(5).Byte(reply).bytes());
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(std::get<Keepalive>(*frame).wal_end, Lsn(~0ULL));
    EXPECT_EQ(std::get<Keepalive>(*frame).reply_requested, reply == 1);
  }
}

TEST(Frame, EveryTruncationOfAHeaderIsAnError) {
  const std::string data = Wire().Byte('w').Int64(1).Int64(1).Int64(1).bytes();
  const std::string keepalive = Wire().Byte('k').Int64(1).Int64(1).Byte(0).bytes();
  for (const std::string& whole : {data, keepalive}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THAT(ParseFrame(std::string_view(whole).substr(0, size)),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("doesn't parse")))
          << size;
    }
  }
  EXPECT_THAT(ParseFrame(keepalive + "x"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("keepalive")));
}

TEST(Frame, UnknownKindIsAnError) {
  EXPECT_THAT(ParseFrame("z123"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unknown frame kind 122")));
}

TEST(Frame, StatusUpdateHasTheLayoutOfTheProtocol) {
  const absl::Time second = absl::FromUnixSeconds(946'684'801);  // one second after the epoch
  const std::string expected =
      Wire().Byte('r').Int64(0x300).Int64(0x200).Int64(0x200).Int64(1'000'000).Byte(1).bytes();
  EXPECT_EQ(EncodeStatusUpdate({Lsn(0x300), Lsn(0x200), true}, second), expected);
  EXPECT_EQ(EncodeStatusUpdate({Lsn(0x300), Lsn(0x200), false}, second).back(), '\0');
}

TEST(Frame, TimesAreMicrosecondsSince2000) {
  EXPECT_EQ(FromPostgresMicros(0), absl::FromUnixSeconds(946'684'800));
  EXPECT_EQ(ToPostgresMicros(FromPostgresMicros(-1)), -1);
}

}  // namespace
}  // namespace walpost::capture
