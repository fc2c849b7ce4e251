#include "sink/file/file_sink.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "../test_settings.h"
#include "support/status_is.h"
#include "temporary_file.h"

namespace walpost::sink {
namespace {

using ::testing::HasSubstr;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

class FileSinkTest : public ::testing::Test {
 protected:
  FileSinkTest() { Set(settings_, "file.path", file_.path()); }

  void Open() {
    auto made = FileSinkType().make(settings_, memory_);
    ASSERT_THAT(made, IsOk());
    sink_ = *std::move(made);
  }

  absl::StatusOr<Admission> Submit(std::optional<std::string_view> value) {
    return sink_->Submit(
        Ticket(next_++),
        {.topic = "t", .key = "k", .value = value, .headers = {}, .timestamp = absl::UnixEpoch()});
  }

  std::vector<Receipt> AwaitReceipts(std::size_t count) {
    std::vector<Receipt> receipts;
    while (receipts.size() < count) {
      pollfd fd = {sink_->ready_fd(), POLLIN, 0};
      if (poll(&fd, 1, 10'000) != 1) break;
      sink_->TakeReceipts(receipts);
    }
    return receipts;
  }

  file::TemporaryFile file_;
  Settings settings_ = SettingsOf("file");
  std::any memory_;
  std::unique_ptr<Sink> sink_;
  std::uint64_t next_ = 0;
};

TEST_F(FileSinkTest, AnEmptyPathIsRefused) {
  Set(settings_, "file.path", "");
  EXPECT_THAT(FileSinkType().check(settings_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("file.path")));
}

TEST_F(FileSinkTest, AFileIsDurableStandardOutputIsNot) {
  Open();
  EXPECT_TRUE(sink_->traits().durable);
  EXPECT_TRUE(sink_->traits().total_order);
  Set(settings_, "file.path", "-");
  Open();
  EXPECT_FALSE(sink_->traits().durable);
}

TEST_F(FileSinkTest, LengthDelimitedValuesAreTheValuesAlone) {
  Set(settings_, "file.format", "length_delimited");
  Open();
  EXPECT_THAT(Submit("ab"), IsOk());
  EXPECT_THAT(Submit(""), IsOk());
  EXPECT_THAT(Submit(std::string(200, 'x')), IsOk());
  AwaitReceipts(3);
  EXPECT_EQ(file_.Read(), "\2ab" + std::string(1, '\0') + "\xc8\1" + std::string(200, 'x'));
}

TEST_F(FileSinkTest, ATombstoneHasNoLengthDelimitedForm) {
  Set(settings_, "file.format", "length_delimited");
  Open();
  EXPECT_THAT(Submit(std::nullopt),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a value")));
  EXPECT_THAT(Submit("a"), IsOk());  // the sink goes on
}

TEST_F(FileSinkTest, AFullDiskFailsTheSinkAndTheNextSessionGoesOn) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  Open();
  ASSERT_THAT(Submit("first"), IsOk());
  EXPECT_THAT(AwaitReceipts(1).at(0).status, IsOk());
  const std::string good = file_.Read();

  rlimit tight = before;
  tight.rlim_cur = good.size() + 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  ASSERT_THAT(Submit("second"), IsOk());
  const auto receipts = AwaitReceipts(1);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(receipts.at(0).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(file_.path())));
  EXPECT_THAT(Submit("third"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("writing")));
  EXPECT_FALSE(sink_->health().ready);
  EXPECT_EQ(file_.Read().size(), good.size() + 10);  // torn

  sink_.reset();
  Open();
  EXPECT_TRUE(sink_->health().ready);
  EXPECT_EQ(file_.Read(), good);
}

}  // namespace
}  // namespace walpost::sink
