#include "sink/kafka/token_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "sink/quiet_thread.h"

namespace walpost::sink::kafka {
namespace {

absl::Status Failed(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument,
               absl::StrCat("kafka.token_command ", ToAbsl(what)));
}

// A child of its own process group, with the pipe as its standard output. 0: it can't be started.
pid_t Spawn(const std::vector<std::string>& command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  // The thread blocks all signals; the command must not inherit that.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: posix_spawn doesn't write
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  return posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ) == 0
             ? child
             : 0;
}

// True once the pipe has come to its end; false: it takes too long, or it is time to stop.
bool ReadAll(int pipe, int stop, MonotonicTime deadline, std::string& text) {
  while (text.size() <= limits::kValueFileBytes) {
    const absl::Duration left = deadline - MonotonicNow();
    pollfd ready[] = {{pipe, POLLIN, 0}, {stop, POLLIN, 0}};
    if (left <= absl::ZeroDuration() ||
        poll(ready, 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) <= 0 ||
        ready[1].revents != 0) {
      return false;
    }
    std::array<char, 4096> buffer{};
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return false;
  }
  return false;
}

}  // namespace

absl::StatusOr<Token> ParseToken(std::string_view json, absl::Time now) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  const auto text = [&parsed](const char* name) {
    const auto found = parsed.find(name);
    return found != parsed.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!parsed.is_object()) return Failed("printed no JSON object");
  Token token{text("token"), text("principal"), {}};
  if (token.value.empty()) return Failed("printed no \"token\"");
  const auto expires = parsed.find("expires_at");
  if (expires == parsed.end() || !expires->is_number()) {
    return Failed("printed no \"expires_at\" in seconds since 1970");
  }
  token.expires_at = absl::UnixEpoch() + absl::Seconds(expires->get<double>());
  if (token.expires_at <= now) return Failed("printed a token that has expired");
  return token;
}

TokenCommand::TokenCommand(rd_kafka_t* producer, std::vector<std::string> command, EventFd stop)
    : producer_(producer), command_(std::move(command)), stop_(std::move(stop)) {}

TokenCommand::~TokenCommand() {
  stop_.Signal();
  if (thread_.joinable()) thread_.join();
}

void TokenCommand::Refresh() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(running_, true)) return;
  }
  if (thread_.joinable()) thread_.join();  // it has said that it is done
  thread_ = StartQuietThread([this] { Run(); });
}

void TokenCommand::Run() {
  absl::StatusOr<std::string> output = Output();
  absl::StatusOr<Token> token =
      output.ok() ? ParseToken(*output, absl::Now()) : absl::StatusOr<Token>(output.status());
  char text[256] = "";
  bool taken = false;
  if (token.ok()) {
    taken = rd_kafka_oauthbearer_set_token(producer_, token->value.c_str(),
                                           absl::ToUnixMillis(token->expires_at),
                                           token->principal.c_str(), nullptr, 0, text,
                                           sizeof text) == RD_KAFKA_RESP_ERR_NO_ERROR;
  }
  if (!taken) {
    const std::string why = token.ok()
                                ? absl::StrCat("printed a token that librdkafka refuses: ", text)
                                : std::string(MessageOf(token.status()));
    rd_kafka_oauthbearer_set_token_failure(producer_, why.c_str());
  }
  const MutexLock lock(mutex_);
  running_ = false;
}

absl::StatusOr<std::string> TokenCommand::Output() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("got no pipe");
  const absl::Cleanup close_reading = [&ends] { close(ends[0]); };
  const pid_t child = Spawn(command_, ends[1]);
  close(ends[1]);
  if (child == 0) return Failed(absl::StrCat("can't be started: '", command_.front(), "'"));
  std::string text;
  const MonotonicTime deadline = MonotonicNow() + limits::kTokenCommand;
  int status = 0;
  bool complete = ReadAll(ends[0], stop_.fd(), deadline, text);
  // It may live on with its output closed.
  bool ended = false;
  while (complete && !ended) {
    ended = waitpid(child, &status, WNOHANG) == child;
    pollfd stop{stop_.fd(), POLLIN, 0};
    if (!ended) complete = poll(&stop, 1, 20) == 0 && MonotonicNow() < deadline;
  }
  if (!ended) {
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!complete) return Failed("didn't end in time, or printed too much");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Failed(absl::StrCat("failed with status ", WEXITSTATUS(status)));
  }
  return text;
}

}  // namespace walpost::sink::kafka
