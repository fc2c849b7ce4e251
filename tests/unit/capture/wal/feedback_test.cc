#include "capture/wal/feedback.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace walpost::capture {
namespace {

class FeedbackTest : public ::testing::Test {
 protected:
  Feedback Make(absl::Duration wal_sender_timeout = absl::Minutes(1)) {
    return Feedback({.confirmed_flush = Lsn(1000), .wal_sender_timeout = wal_sender_timeout},
                    start_);
  }
  const MonotonicTime start_ = MonotonicTime(1'000'000'000);
};

// Nothing is said to be flushed because it was received.
TEST_F(FeedbackTest, WriteFollowsWhatWasReceivedAndFlushOnlyWhatWasConfirmed) {
  Feedback feedback = Make();
  feedback.Received(Lsn(5000));
  feedback.Announced(Lsn(4000));
  StatusUpdate update = feedback.Take(start_);
  EXPECT_EQ(update.write, Lsn(5000));
  EXPECT_EQ(update.flush, Lsn(1000));
  feedback.Confirm(Lsn(4000));
  update = feedback.Take(start_);
  EXPECT_EQ(update.flush, Lsn(4000));
  EXPECT_EQ(feedback.said(), Lsn(4000));
}

// A server that catches up announces positions below the confirmed one.
TEST_F(FeedbackTest, FlushAndWriteNeverGoBack) {
  Feedback feedback = Make();
  feedback.Announced(Lsn(400));
  feedback.Confirm(Lsn(400));
  EXPECT_EQ(feedback.Take(start_).flush, Lsn(1000));
  EXPECT_EQ(feedback.Take(start_).write, Lsn(1000));
}

// The server accepts any flush, and silently skips what lies between.
TEST_F(FeedbackTest, ConfirmingWhatWasNeverAnnouncedEndsTheProcess) {
  Feedback feedback = Make();
  feedback.Received(Lsn(9000));
  feedback.Announced(Lsn(4000));
  EXPECT_DEATH(feedback.Confirm(Lsn(4001)), "announced");
}

// The timer runs by itself, and fits the server's timeout.
TEST_F(FeedbackTest, TheTimerFitsTheServersTimeout) {
  EXPECT_EQ(Make().due(), start_ + absl::Seconds(10));
  EXPECT_EQ(Make(absl::Seconds(3)).due(), start_ + absl::Seconds(1));
  EXPECT_EQ(Make(absl::ZeroDuration()).due(), start_ + absl::Seconds(10));
}

TEST_F(FeedbackTest, AMovedFlushIsSaidSoon) {
  Feedback feedback = Make();
  feedback.Announced(Lsn(2000));
  feedback.Confirm(Lsn(2000));
  EXPECT_LE(feedback.due(), start_ + absl::Milliseconds(100));
  feedback.Take(start_);
  EXPECT_EQ(feedback.due(), start_ + absl::Seconds(10));
}

// A stopping server answers every status with another request.
TEST_F(FeedbackTest, RequestsAreAnsweredAtMostOnceASecondWhileFlushStandsStill) {
  Feedback feedback = Make();
  MonotonicTime now = start_;
  int answers = 0;
  for (int millisecond = 0; millisecond < 5000; ++millisecond) {
    now = start_ + absl::Milliseconds(millisecond);
    feedback.Requested();
    if (now >= feedback.due()) {
      feedback.Take(now);
      ++answers;
    }
  }
  EXPECT_GE(answers, 4);
  EXPECT_LE(answers, 5);
}

// A silent server is asked, and a server that answers lives.
TEST_F(FeedbackTest, ASilentServerIsAskedAndThenDead) {
  Feedback feedback = Make();
  const MonotonicTime quiet = start_ + limits::kPeerQuiet;
  EXPECT_FALSE(feedback.Take(quiet + absl::Milliseconds(-1)).reply_requested);
  EXPECT_TRUE(feedback.Take(quiet).reply_requested);
  EXPECT_FALSE(feedback.dead(quiet));
  const MonotonicTime dead = start_ + absl::Seconds(60) + limits::kPeerMargin;
  EXPECT_FALSE(feedback.dead(dead + absl::Milliseconds(-1)));
  EXPECT_TRUE(feedback.dead(dead));
  feedback.Heard(quiet);
  EXPECT_FALSE(feedback.dead(dead));
}

}  // namespace
}  // namespace walpost::capture
