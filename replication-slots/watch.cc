// walpost slots watch: the list, live.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/status.h"
#include "commands.h"
#include "output.h"

namespace walpost::slots {
namespace {

constexpr std::size_t kSamples = 30;

volatile std::sig_atomic_t interrupted = 0;

// ▁▂▃…: each value against the largest.
std::string Sparkline(const std::deque<std::int64_t>& values) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::int64_t most = 1;
  for (const std::int64_t value : values) most = std::max(most, value);
  std::string line;
  for (const std::int64_t value : values) {
    line += kBars[std::max<std::int64_t>(0, value) * 7 / most];
  }
  return line;
}

// The alternate screen, keys without Enter, and the way back.
class Screen {
 public:
  Screen() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    std::cout << "\x1b[?1049h\x1b[?25l" << std::flush;
  }
  ~Screen() {
    std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // True when it is time to leave: q, or a signal.
  static bool Wait(absl::Duration time) {
    const MonotonicTime until = MonotonicNow() + time;
    while (interrupted == 0) {
      const absl::Duration left = until - MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      pollfd keys{STDIN_FILENO, POLLIN, 0};
      if (poll(&keys, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) <= 0) continue;
      char key = 0;
      if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q') return true;
    }
    return true;
  }

 private:
  termios before_{};
};

class Watch {
 public:
  Watch(Server& server, const WatchArgs& args) : server_(server), args_(args) {}

  // Reads once more. The rate is that since the reading before.
  absl::Status Read() {
    const Lsn before = server_.wal_end();
    const MonotonicTime then = read_at_;
    RETURN_IF_ERROR(server_.Refresh());
    read_at_ = MonotonicNow();
    if (then != MonotonicTime() && server_.wal_end() >= before) {
      rate_ = static_cast<double>(server_.wal_end().value - before.value) /
              absl::ToDoubleSeconds(read_at_ - then);
    }
    ASSIGN_OR_RETURN(slots_, ReadSlots(server_, rate_));
    for (const SlotRow& slot : slots_) {
      std::deque<std::int64_t>& values = history_[slot.name()];
      values.push_back(slot.situation.retained_bytes.value_or(0));
      if (values.size() > kSamples) values.pop_front();
    }
    return absl::OkStatus();
  }

  void Draw() const {
    std::ostringstream text;
    text << "walpost slots watch  " << server_.database() << "  "
         << absl::FormatTime("%H:%M:%S UTC", absl::Now(), absl::UTCTimeZone()) << "  WAL "
         << FormatLsn(server_.wal_end()) << "  "
         << (rate_ ? Bytes(static_cast<std::int64_t>(*rate_)) + "/s" : "") << "   q quits\n\n";
    PrintSlots("table", "watch", server_, slots_, rate_, text);
    text << "\nretained\n";
    for (const SlotRow& slot : slots_) {
      text << "  " << slot.name() << " " << Sparkline(history_.at(slot.name())) << " "
           << Bytes(slot.situation.retained_bytes) << "\n";
    }
    // Each line is cleared to its end, and what stood below the last one.
    std::cout << "\x1b[H";
    std::istringstream lines(text.str());
    const std::size_t width = LineWidth();
    for (std::string line; std::getline(lines, line);) {
      std::cout << Cut(line, width) << "\x1b[K\n";
    }
    std::cout << "\x1b[J" << std::flush;
  }

  void Print() const {
    PrintSlots(args_.common.output, "watch", server_, slots_, rate_, std::cout);
    std::cout << std::flush;
  }

 private:
  Server& server_;
  const WatchArgs& args_;
  MonotonicTime read_at_;
  std::optional<double> rate_;
  std::vector<SlotRow> slots_;
  std::map<std::string, std::deque<std::int64_t>> history_;
};

}  // namespace

absl::StatusOr<int> RunWatch(const WatchArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  Watch watch(server, args);
  RETURN_IF_ERROR(watch.Read());
  const bool terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  const bool live = terminal && args.common.output == "table" && !args.once;
  const bool stream = args.common.output != "table" && !args.once;
  if (!live && !stream) {
    Pause(std::min(args.interval, absl::Duration(absl::Seconds(1))));
    RETURN_IF_ERROR(watch.Read());
    watch.Print();
    return 0;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  if (stream) {
    while (interrupted == 0 && std::cout.good()) {
      Pause(args.interval);
      RETURN_IF_ERROR(watch.Read());
      watch.Print();
    }
    return 0;
  }
  const Screen screen;
  do {
    RETURN_IF_ERROR(watch.Read());
    watch.Draw();
  } while (!Screen::Wait(args.interval));
  return 0;
}

}  // namespace walpost::slots
