#include "sink/file/output.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "base/status.h"
#include "sink/event_fd.h"
#include "sink/quiet_thread.h"
#include "support/status_is.h"
#include "temporary_file.h"

namespace walpost::sink::file {
namespace {

using ::testing::HasSubstr;
using walpost::testing::IsOk;
using walpost::testing::StatusIs;

class OutputTest : public ::testing::Test {
 protected:
  TemporaryFile file_;
  EventFd stop_ = EventFd::Create().value();
};

TEST_F(OutputTest, AppendsToWhatIsThere) {
  file_.Write("a\n");
  auto output = OpenFile(file_.path(), Framing::kLines);
  ASSERT_THAT(output, IsOk());
  EXPECT_THAT((*output)->Write("b\n", stop_.fd()), IsOk());
  EXPECT_EQ(file_.Read(), "a\nb\n");
}

TEST_F(OutputTest, CutsWhatAnEarlierCrashLeftTorn) {
  file_.Write("a\nhal");
  auto output = OpenFile(file_.path(), Framing::kLines);
  ASSERT_THAT(output, IsOk());
  EXPECT_THAT((*output)->Write("b\n", stop_.fd()), IsOk());
  EXPECT_EQ(file_.Read(), "a\nb\n");

  output->reset();
  file_.Write("\1x\5ab");
  EXPECT_THAT(OpenFile(file_.path(), Framing::kLengthDelimited), IsOk());
  EXPECT_EQ(file_.Read(), "\1x");
}

// Two relays on one file would cut each other's last line.
TEST_F(OutputTest, ASecondWriterIsRefused) {
  const auto first = OpenFile(file_.path(), Framing::kLines);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(OpenFile(file_.path(), Framing::kLines),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("in use")));
}

TEST_F(OutputTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(file_.path().c_str(), 0600), 0);
  const auto fifo = OpenFile(file_.path(), Framing::kLines);
  EXPECT_THAT(fifo,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
  EXPECT_THAT(HintOf(fifo.status()), HasSubstr("\"-\""));
  EXPECT_THAT(OpenFile("/dev/null", Framing::kLines),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/dev/null")));
}

TEST_F(OutputTest, AMissingFolderIsNamed) {
  EXPECT_THAT(OpenFile(file_.path() + "/no/file", Framing::kLines),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/no/file")));
}

class StreamTest : public OutputTest {
 protected:
  StreamTest() {
    EXPECT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    stream_ = OpenStream(pipe_[1]);
  }
  ~StreamTest() override {
    CloseReader();
    close(pipe_[1]);
  }
  void CloseReader() {
    if (pipe_[0] >= 0) close(pipe_[0]);
    pipe_[0] = -1;
  }
  // Runs on a thread without signals, as the sink's writer does.
  absl::Status Write(std::string_view bytes) {
    absl::Status result;
    StartQuietThread([&] { result = stream_->Write(bytes, stop_.fd()); }).join();
    return result;
  }

  int pipe_[2] = {-1, -1};
  std::unique_ptr<Output> stream_;
};

TEST_F(StreamTest, WritesEverythingToASlowReader) {
  const std::string bytes(1'000'000, 'x');
  std::string got;
  std::thread reader([&] {
    char buffer[10'000];
    while (got.size() < bytes.size()) {
      const ssize_t n = read(pipe_[0], buffer, sizeof buffer);
      if (n <= 0) return;
      got.append(buffer, static_cast<std::size_t>(n));
    }
  });
  EXPECT_THAT(Write(bytes), IsOk());
  reader.join();
  EXPECT_EQ(got, bytes);
}

// A blocking write to a pipe that nobody reads would hold up the shutdown for ever.
TEST_F(StreamTest, AStuckReaderDoesNotHoldUpTheStop) {
  const std::string bytes(1'000'000, 'x');
  absl::Status result;
  std::thread writer = StartQuietThread([&] { result = stream_->Write(bytes, stop_.fd()); });
  stop_.Signal();
  writer.join();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
}

// SIGPIPE would end the process.
TEST_F(StreamTest, AReaderThatWentAwayIsAnError) {
  CloseReader();
  EXPECT_THAT(Write("x"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Broken pipe")));
}

TEST_F(StreamTest, TheDescriptorStaysInBlockingMode) {
  EXPECT_EQ(fcntl(pipe_[1], F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace walpost::sink::file
