// walpost run: the loop around the relay. Everything that has a descriptor is polled here:
// Postgres, the sink, the administration port, signals.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <any>
#include <csignal>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "admin_endpoint.h"
#include "base/log.h"
#include "base/pq.h"
#include "base/status.h"
#include "build_info.h"
#include "capture/wal/wal_source.h"
#include "config.h"
#include "outbox/event_reader.h"
#include "outbox/message_builder.h"
#include "relay.h"
#include "reload.h"
#include "sd_notify.h"
#include "sink/kafka/library_version.h"
#include "sink/sink_table.h"
#include "status_page.h"
#include "verbs.h"

namespace walpost {
namespace {

// Before any thread starts, so that no thread of a library takes one of them.
int BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

// Each session has a sink and a source of its own; the sink comes first.
RelayParts PartsOf(const ConfigSources& sources, Config& config, const sink::SinkType& sink_type) {
  RelayParts parts;
  parts.make_source = [&config](const std::optional<capture::LastSeen>& last, MonotonicTime now) {
    return capture::WalSource::Start({.dsn = config.dsn,
                                      .slot = config.slot,
                                      .publication = config.publication,
                                      .tables = config.tables,
                                      .message_prefixes = config.message_prefixes,
                                      .last_seen = last},
                                     now);
  };
  parts.make_sink = [&sources, &config, &sink_type, memory = std::make_shared<std::any>(),
                     first = true,
                     warned = false]() mutable -> absl::StatusOr<std::unique_ptr<sink::Sink>> {
    if (!std::exchange(first, false)) ReadSecretsAgain(sources, config);
    ASSIGN_OR_RETURN(std::unique_ptr<sink::Sink> sink, sink_type.make(config.settings, *memory));
    RETURN_IF_ERROR(sink->Start().status());
    if (!sink->traits().durable && !std::exchange(warned, true)) {
      log::Warning("this sink is not durable: what it took is confirmed and may yet be lost",
                   {{"sink", config.sink_type}});
    }
    return sink;
  };
  return parts;
}

void WaitForWork(std::vector<pollfd>& polls, MonotonicTime deadline) {
  const absl::Duration left = std::max(absl::ZeroDuration(), deadline - MonotonicNow());
  const timespec timeout = absl::ToTimespec(left);
  ppoll(polls.data(), polls.size(), &timeout, nullptr);
}

// Turns until the relay has stopped. A second signal to stop leaves at once.
void Loop(Relay& relay, AdminEndpoint* admin, int signals, absl::Duration drain_timeout,
          const std::function<void()>& reload) {
  SdNotify supervisor;
  supervisor.Ready();
  std::vector<pollfd> polls;
  bool asked = false;
  while (!relay.stopped()) {
    polls.clear();
    polls.push_back({signals, POLLIN, 0});
    if (admin != nullptr) polls.push_back({admin->poll_fd(), POLLIN, 0});
    relay.AppendPolls(polls);
    MonotonicTime deadline = relay.deadline();
    if (admin != nullptr) deadline = std::min(deadline, MonotonicNow() + admin->timeout());
    WaitForWork(polls, std::min(deadline, supervisor.deadline()));
    signalfd_siginfo signal{};
    while (read(signals, &signal, sizeof(signal)) == sizeof(signal)) {
      if (signal.ssi_signo == SIGHUP) {
        reload();
        continue;
      }
      if (asked) {
        log::Warning("asked twice to stop: leaving at once");
        return;
      }
      asked = true;
      log::Info("stopping");
      supervisor.Stopping(drain_timeout);
      relay.BeginStop();
    }
    relay.Step();
    supervisor.Beat(MonotonicNow(), relay.state());
    if (admin != nullptr) admin->Serve();
  }
}

absl::Status Run(const ConfigSources& sources, Config config,
                 const std::function<void(RelayParts&)>& adapt) {
  const int signals = BlockSignals();
  const absl::Cleanup close_signals = [signals] { close(signals); };
  // Nanoseconds: gathering reads wait for fractions of a millisecond.
  prctl(PR_SET_TIMERSLACK, 10'000UL);

  const sink::SinkType* sink_type = sink::FindSinkType(config.sink_type);
  if (sink_type == nullptr) {
    return Error(absl::StatusCode::kInternal, "the configuration let an unknown sink pass");
  }
  outbox::EventReader reader(config.mapping);
  PoisonPolicy poison(config.poison);
  ASSIGN_OR_RETURN(const std::unique_ptr<outbox::MessageBuilder> builder,
                   outbox::MessageBuilder::Make(config.routing, config.format));
  Metrics metrics({.version = kVersion,
                   .commit = kCommit,
                   .librdkafka = sink::KafkaLibraryVersion(),
                   .libpq = PqLibraryVersion()});
  metrics.queue_limit_messages.Set(static_cast<double>(config.max_inflight_messages));
  ShowReload(true, metrics);
  RelayParts parts = PartsOf(sources, config, *sink_type);
  parts.reader = &reader;
  parts.builder = builder.get();
  parts.poison = &poison;
  parts.metrics = &metrics;
  if (adapt) adapt(parts);
  Relay relay({.max_inflight_messages = config.max_inflight_messages,
               .max_inflight_bytes = config.max_inflight_bytes,
               .drain_timeout = config.drain_timeout,
               .seed = std::random_device{}()},
              std::move(parts));
  std::unique_ptr<AdminEndpoint> admin;
  if (!config.admin_listen.empty()) {
    ASSIGN_OR_RETURN(admin, AdminEndpoint::Listen(
                                config.admin_listen, [&relay, &metrics, &config](AdminRoute route) {
                                  return Answer(route, relay, metrics, config.slot);
                                }));
    log::Info("listening", {{"admin", admin->address()}});
  }
  Loop(relay, admin.get(), signals, config.drain_timeout,
       [&] { ShowReload(Reload(sources, config), metrics); });
  if (!relay.stopped()) {
    return WithExitCode(Error(absl::StatusCode::kCancelled, "stopped without draining"),
                        ExitCode::kUndelivered);
  }
  return relay.outcome();
}

}  // namespace

ExitCode VerbRun(const ConfigSources& sources, const Config& config,
                 const std::function<void(RelayParts&)>& adapt) {
  log::Configure(config.log_level, config.log_format);
  const absl::Status status = Run(sources, config, adapt);
  if (status.ok()) {
    log::Info("stopped");
    return ExitCode::kOk;
  }
  log::Failure("stopped", status);
  return ExitCodeOf(status);
}

}  // namespace walpost
