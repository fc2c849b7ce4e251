// walpost's relay with something between its parts: the ports of source and sink are the seams.
#include "relay.h"

#include <poll.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "harness/load.h"
#include "harness/stages.h"
#include "harness/waiting.h"
#include "verbs.h"
#include "verbs/bench_verbs.h"

namespace walpost::bench {
namespace {

// What the two sides share. Thread: the relay's loop.
struct Between {
  absl::Duration sleep_per_batch;
  std::int64_t lose_every = 0;
  std::ofstream trace;
  std::int64_t batch_taken = 0;
  std::unordered_map<std::uint64_t, Stages> underway;  // by ticket
  std::int64_t submitted = 0;
};

class ForwardingSource : public capture::Source {
 public:
  ForwardingSource(std::unique_ptr<capture::Source> inner, Between& between)
      : inner_(std::move(inner)), between_(between) {}

  absl::StatusOr<bool> TakeBatch(MonotonicTime now, capture::Batch& batch) override {
    absl::StatusOr<bool> taken = inner_->TakeBatch(now, batch);
    if (!taken.ok() || !*taken || batch.empty()) return taken;
    between_.batch_taken = MonotonicNow().nanoseconds();
    if (between_.sleep_per_batch > absl::ZeroDuration())
      SleepUntil(MonotonicNow() + between_.sleep_per_batch);
    return taken;
  }

  void AppendPolls(std::vector<pollfd>& polls, bool paused) const override {
    inner_->AppendPolls(polls, paused);
  }
  MonotonicTime deadline() const override { return inner_->deadline(); }
  absl::Status Tick(MonotonicTime now, bool unconfirmed) override {
    return inner_->Tick(now, unconfirmed);
  }
  void Confirm(Position through) override { inner_->Confirm(through); }
  void BeginStop(MonotonicTime now) override { inner_->BeginStop(now); }
  capture::SourceState state() const override { return inner_->state(); }
  bool inside_transaction() const override { return inner_->inside_transaction(); }
  const std::optional<capture::Identity>& identity() const override { return inner_->identity(); }
  capture::SourceProgress progress() const override { return inner_->progress(); }
  bool server_is_stopping() const override { return inner_->server_is_stopping(); }

 private:
  const std::unique_ptr<capture::Source> inner_;
  Between& between_;
};

class ForwardingSink : public sink::Sink {
 public:
  ForwardingSink(std::unique_ptr<sink::Sink> inner, Between& between)
      : inner_(std::move(inner)), between_(between) {}

  absl::StatusOr<sink::Admission> Submit(Ticket ticket, const outbox::Message& message) override {
    if (between_.lose_every > 0 && ++between_.submitted % between_.lose_every == 0) {
      lost_.push_back({ticket, absl::OkStatus()});
      return sink::Admission::kAccepted;
    }
    absl::StatusOr<sink::Admission> admission = inner_->Submit(ticket, message);
    if (between_.trace.is_open() && admission.ok() && *admission == sink::Admission::kAccepted) {
      for (const outbox::MessageHeader& header : message.headers) {
        if (header.name != "id") continue;
        between_.underway[ticket.value] = {.number = NumberOfId(header.value).value_or(-1),
                                           .received = between_.batch_taken,
                                           .produced = MonotonicNow().nanoseconds()};
      }
    }
    return admission;
  }

  void TakeReceipts(std::vector<sink::Receipt>& receipts) override {
    const std::size_t before = receipts.size();
    inner_->TakeReceipts(receipts);
    const std::int64_t now = MonotonicNow().nanoseconds();
    for (std::size_t i = before; i < receipts.size() && between_.trace.is_open(); ++i) {
      auto stages = between_.underway.extract(receipts[i].ticket.value);
      if (stages.empty() || !receipts[i].status.ok()) continue;
      stages.mapped().acknowledged = now;
      between_.trace.write(reinterpret_cast<const char*>(&stages.mapped()), sizeof(Stages));
    }
    receipts.insert(receipts.end(), lost_.begin(), lost_.end());
    lost_.clear();
  }

  int ready_fd() const override { return inner_->ready_fd(); }
  void BeginDrain() override { inner_->BeginDrain(); }
  bool drained() const override { return inner_->drained() && lost_.empty(); }
  absl::Status failure() const override { return inner_->failure(); }
  sink::SinkHealth health() const override { return inner_->health(); }
  sink::SinkTraits traits() const override { return inner_->traits(); }

 private:
  const std::unique_ptr<sink::Sink> inner_;
  Between& between_;
  std::vector<sink::Receipt> lost_;  // said to be delivered
};

void PutBetween(RelayParts& parts, Between& between) {
  parts.make_source = [make = std::move(parts.make_source), &between](
                          const auto& last,
                          MonotonicTime now) -> absl::StatusOr<std::unique_ptr<capture::Source>> {
    absl::StatusOr<std::unique_ptr<capture::Source>> inner = make(last, now);
    if (!inner.ok()) return inner;
    return std::make_unique<ForwardingSource>(*std::move(inner), between);
  };
  parts.make_sink = [make = std::move(parts.make_sink),
                     &between]() -> absl::StatusOr<std::unique_ptr<sink::Sink>> {
    absl::StatusOr<std::unique_ptr<sink::Sink>> inner = make();
    if (!inner.ok()) return inner;
    return std::make_unique<ForwardingSink>(*std::move(inner), between);
  };
}

}  // namespace

int VerbRelay(const RelayArgs& args) {
  Between between;
  between.lose_every = args.lose_every;
  if (!args.sleep_per_batch.empty() &&
      !absl::ParseDuration(args.sleep_per_batch, &between.sleep_per_batch)) {
    std::fprintf(stderr, "--sleep-per-batch takes a duration such as 10ms\n");
    return 64;
  }
  if (!args.trace.empty()) between.trace.open(args.trace, std::ios::binary);
  const absl::StatusOr<ConfigSources> sources = SourcesOf({.file = args.config});
  const absl::StatusOr<Config> config = sources.ok() ? LoadConfig(*sources) : sources.status();
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", std::string(config.status().message()).c_str());
    return 78;
  }
  return static_cast<int>(
      walpost::VerbRun(*sources, *config, [&](RelayParts& parts) { PutBetween(parts, between); }));
}

}  // namespace walpost::bench
