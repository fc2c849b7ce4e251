#include "simulation.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "relay.h"

namespace walpost::simulation {
namespace {

constexpr int kSteps = 1200;
constexpr int kMostStepsToQuiet = 40'000;

class Run {
 public:
  Run(std::uint64_t seed, Mutant mutant)
      : trouble_(TroubleOf(seed)),
        world_(seed, trouble_ == Trouble::kSink || trouble_ == Trouble::kAll, mutant),
        seed_(seed),
        window_(world_.dice.Percent(50) ? world_.dice.Between(1, 8) : 200) {
    if (trouble_ == Trouble::kNone || trouble_ == Trouble::kStream) world_.judge.ForbidDuplicates();
    StartRelay();
  }

  Outcome Result() {
    for (int step = 0; step < kSteps && Good(); ++step) Step();
    Settle();
    if (Good()) world_.judge.AtTheEnd();
    return {world_.judge.verdict(), world_.judge.landed(), world_.judge.duplicates(), sessions_};
  }

 private:
  bool Good() const { return world_.judge.verdict().empty(); }

  void StartRelay() {
    reader_.emplace(outbox::MappingOptions());
    builder_ = *outbox::MessageBuilder::Make({}, outbox::ValueFormat::kEnvelope);
    poison_.emplace(PoisonOptions{.dead_letter = true, .dead_letter_topic = "dead"});
    RelayParts parts;
    parts.make_source = [this](const std::optional<capture::LastSeen>&,
                               MonotonicTime) -> absl::StatusOr<std::unique_ptr<capture::Source>> {
      ++sessions_;
      return std::make_unique<ModelSource>(world_);
    };
    parts.make_sink = [this]() -> absl::StatusOr<std::unique_ptr<sink::Sink>> {
      return std::make_unique<ModelSink>(world_);
    };
    parts.reader = &*reader_;
    parts.builder = builder_.get();
    parts.poison = &*poison_;
    parts.metrics = &metrics_;
    parts.clock = [this] { return world_.now; };
    relay_.emplace(RelayOptions{.max_inflight_messages = window_,
                                .max_inflight_bytes = 1'000'000,
                                .drain_timeout = absl::Seconds(5),
                                .seed = seed_},
                   std::move(parts));
  }

  void Step() {
    const std::size_t what = world_.dice.Below(100);
    if (what < 30) {
      world_.postgres.Work();
    } else if (what < 65) {
      StepRelay();
    } else if (what < 92) {
      world_.broker.Step();
    } else if (what < 97) {
      PassTime();
    } else {
      Disturb();
    }
  }

  void StepRelay() {
    relay_->Step();
    if (relay_->stopped()) {
      world_.judge.Accuse(absl::StrCat("the relay stopped: ", relay_->outcome().ToString()));
    }
  }

  // Where the broker answers within the grace, time stands still for what is in flight.
  void PassTime() {
    if (trouble_ == Trouble::kStream && world_.broker.in_flight() > 0) return;
    world_.now = world_.now + absl::Milliseconds(world_.dice.Between(1, 4000));
  }

  void Disturb() {
    const std::size_t what = world_.dice.Below(4);
    if (trouble_ == Trouble::kNone) return;
    if (what == 0) {
      world_.cut = true;
    } else if (what == 1) {
      world_.cut = true;
      if (world_.dice.Percent(30)) world_.postgres.Crash();
    } else if (what == 2 && trouble_ != Trouble::kStream) {
      world_.broker.Break();
    } else if (what == 3 && trouble_ == Trouble::kAll) {
      relay_.reset();  // kill -9: what was in flight is anyone's guess
      StartRelay();
    }
  }

  // No more trouble: everything has to arrive, and the slot to follow.
  void Settle() {
    world_.postgres.Quiesce();
    world_.cut = false;
    for (int step = 0; step < kMostStepsToQuiet && Good(); ++step) {
      StepRelay();
      world_.broker.Step();
      if (step % 16 == 0) world_.now = world_.now + absl::Milliseconds(20);
      if (world_.postgres.caught_up() && world_.broker.idle() && Confirmed()) return;
    }
    if (Good()) {
      world_.judge.Accuse(absl::StrCat("no progress: confirmed ", world_.postgres.confirmed_flush(),
                                       " of ", world_.postgres.wal_end()));
    }
  }

  // Through the last transaction that a server shows.
  bool Confirmed() const {
    const auto& committed = world_.postgres.committed();
    for (auto it = committed.rbegin(); it != committed.rend(); ++it) {
      if (it->seen) return world_.postgres.confirmed_flush() >= it->end_lsn;
    }
    return true;
  }

  const Trouble trouble_;
  World world_;
  const std::uint64_t seed_;
  const std::size_t window_;
  Metrics metrics_{{"1", "2", "3", "4"}};
  std::optional<outbox::EventReader> reader_;
  std::unique_ptr<outbox::MessageBuilder> builder_;
  std::optional<PoisonPolicy> poison_;
  std::uint64_t sessions_ = 0;
  std::optional<Relay> relay_;  // last: it goes first
};

}  // namespace

Trouble TroubleOf(std::uint64_t seed) { return static_cast<Trouble>(seed % 4); }

Outcome Simulate(std::uint64_t seed, Mutant mutant) { return Run(seed, mutant).Result(); }

}  // namespace walpost::simulation
