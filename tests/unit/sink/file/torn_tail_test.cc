#include "sink/file/torn_tail.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/limits.h"
#include "support/status_is.h"
#include "temporary_file.h"

namespace walpost::sink::file {
namespace {

using ::testing::HasSubstr;
using walpost::testing::StatusIs;

class TornTailTest : public ::testing::Test {
 protected:
  template <typename Function>
  absl::StatusOr<std::uint64_t> With(Function function, std::string_view content) {
    file_.Write(content);
    const int fd = open(file_.path().c_str(), O_RDONLY | O_CLOEXEC);
    auto result = function(fd, content.size());
    close(fd);
    return result;
  }
  std::uint64_t LastLine(std::string_view content) { return With(EndOfLastLine, content).value(); }
  std::uint64_t LastRecord(std::string_view content) {
    return With(EndOfLastRecord, content).value();
  }

  TemporaryFile file_;
};

std::string Record(std::size_t size) {
  std::string record;
  std::size_t length = size;
  for (; length >= 0x80; length >>= 7) record.push_back(static_cast<char>(length | 0x80));
  record.push_back(static_cast<char>(length));
  return record.append(size, '\xff');  // looks like a length that goes on
}

TEST_F(TornTailTest, EveryTruncationOfLinesEndsBehindANewline) {
  const std::string content = "a\n\nbcd\ne\n";
  for (std::size_t size = 0; size <= content.size(); ++size) {
    const std::string torn = content.substr(0, size);
    EXPECT_EQ(LastLine(torn), torn.rfind('\n') + 1) << size;
  }
}

TEST_F(TornTailTest, ALongTornLineIsFoundAcrossReads) {
  for (const std::size_t tail :
       {limits::kTailRead - 1, limits::kTailRead, limits::kTailRead + 1, 3 * limits::kTailRead}) {
    EXPECT_EQ(LastLine("whole\n" + std::string(tail, 'x')), 6U) << tail;
    EXPECT_EQ(LastLine(std::string(tail, 'x')), 0U) << tail;
  }
}

TEST_F(TornTailTest, EveryTruncationOfRecordsEndsBehindARecord) {
  std::vector<std::uint64_t> ends = {0};
  std::string content;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{128}, std::size_t{300}}) {
    content += Record(size);
    ends.push_back(content.size());
  }
  for (std::size_t size = 0; size <= content.size(); ++size) {
    std::uint64_t expected = 0;
    for (const std::uint64_t end : ends) {
      if (end <= size) expected = end;
    }
    EXPECT_EQ(LastRecord(content.substr(0, size)), expected) << size;
  }
}

TEST_F(TornTailTest, RecordsAreFollowedAcrossReads) {
  std::string content;
  for (std::size_t i = 0; i < 300; ++i) content += Record(i * 7);
  const std::uint64_t whole = content.size();
  EXPECT_GT(whole, 4 * limits::kTailRead);
  EXPECT_EQ(LastRecord(content), whole);
  EXPECT_EQ(LastRecord(content + Record(limits::kTailRead).substr(0, limits::kTailRead)), whole);
}

TEST_F(TornTailTest, AFileOfAnotherKindIsNotCut) {
  EXPECT_THAT(With(EndOfLastRecord, std::string(11, '\xff')),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("offset 0")));
}

}  // namespace
}  // namespace walpost::sink::file
