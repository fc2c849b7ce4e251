#include "scenarios/backlog.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/running.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(10);
// What comes before this share of the backlog is warm-up: a JVM's rate doubles after it.
constexpr double kWarmShare = 0.25;

std::string Loop(std::int64_t first, std::int64_t last, std::int64_t step, const Options& options) {
  return absl::StrCat("DO $$ BEGIN FOR i IN ", first, "..", last, " BY ", step, " LOOP ",
                      InsertEvents("i", absl::StrCat("least(i + ", step - 1, ", ", last, ")"), "k",
                                   options.aggregates, options.payload_bytes),
                      "; COMMIT; END LOOP; END $$");
}

// The table as a poller needs it, with nothing published yet.
absl::Status MakeUnpublished(Bench& bench, const Target& target) {
  RETURN_IF_ERROR(bench.postgres->Execute(
      "ALTER TABLE outbox DROP COLUMN IF EXISTS published_at, DROP COLUMN IF EXISTS status,"
      "DROP COLUMN IF EXISTS locked_until, DROP COLUMN IF EXISTS processed"));
  RETURN_IF_ERROR(bench.postgres->Execute("VACUUM outbox"));
  return bench.postgres->Execute(target.TableSql());
}

// How far a target is, as somebody else counts it.
class Meter {
 public:
  Meter(Bench& bench, const Assignment& assignment, const Backlog& backlog)
      : bench_(bench), assignment_(assignment), backlog_(backlog) {}

  absl::Status Start() {
    if (assignment_.topic.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(counter_, OffsetCounter::Start(assignment_.bootstrap, assignment_.topic,
                                                    bench_.options.partitions));
    return absl::OkStatus();
  }

  // Events in the topic. For a target that delivers nothing all or none, by the slot's confirmation or
  // its end: pg_recvlogical leaves when it has seen the last one.
  absl::StatusOr<std::int64_t> Count(bool ended) {
    if (counter_ != nullptr) return counter_->Count();
    if (ended) return backlog_.events;
    ASSIGN_OR_RETURN(
        const std::string done,
        bench_.postgres->Value(absl::StrCat(
            "SELECT confirmed_flush_lsn >= '", FormatLsn(backlog_.end),
            "' AS value FROM pg_replication_slots WHERE slot_name = '", assignment_.slot, "'")));
    return done == "t" ? backlog_.events : 0;
  }

 private:
  Bench& bench_;
  const Assignment& assignment_;
  const Backlog& backlog_;
  std::unique_ptr<OffsetCounter> counter_;
};

struct Point {
  MonotonicTime at;
  std::int64_t count = 0;
};

double Seconds(absl::Duration duration) { return absl::ToDoubleSeconds(duration); }

double RateBetween(const Point& from, const Point& to) {
  const double seconds = Seconds(to.at - from.at);
  return seconds > 0 ? static_cast<double>(to.count - from.count) / seconds : 0;
}

// Follows the target until all is there, it ended, or the limit passed. Points where the count rose; the
// first is where it began.
absl::StatusOr<std::vector<Point>> Follow(Bench& bench, Meter& meter, RunningTarget& running,
                                          const Backlog& backlog) {
  std::vector<Point> points = {{running.started(), 0}};
  absl::Status failure;
  WaitUntil(
      bench.options.drain_limit,
      [&] {
        const bool ended = running.Ended();
        const absl::StatusOr<std::int64_t> count = meter.Count(ended);
        failure = count.ok() ? running.Alive() : count.status();
        if (!failure.ok()) return true;
        if (*count > points.back().count) points.push_back({MonotonicNow(), *count});
        return ended || points.back().count >= backlog.events;
      },
      kLook);
  if (!failure.ok()) return failure;
  return points;
}

absl::StatusOr<Correctness> CheckTopic(Bench& bench, const Assignment& assignment,
                                       const Backlog& backlog, bool complete) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Observer> observer,
                   Observer::Start(assignment.bootstrap, assignment.topic, bench.options.partitions,
                                   backlog.events));
  observer->WaitFor(backlog.events + 1, absl::Seconds(complete ? 1 : 3), absl::Minutes(2));
  observer->Stop();
  return Check(
      observer->deliveries(), std::vector<bool>(static_cast<std::size_t>(backlog.events), true),
      [&](std::int64_t number) { return number % backlog.aggregates; }, complete);
}

void AddRates(const std::vector<Point>& points, const Backlog& backlog, bool to_kafka,
              nlohmann::json& result) {
  const auto warm = std::find_if(points.begin(), points.end(), [&](const Point& point) {
    return static_cast<double>(point.count) >= kWarmShare * static_cast<double>(backlog.events);
  });
  // Without a counter nothing is known but the whole: the rate includes the start.
  const Point& first = to_kafka && points.size() > 1 ? points[1] : points[0];
  result["seconds"] = Seconds(points.back().at - points[0].at);
  result["start_to_first_seconds"] =
      to_kafka ? nlohmann::json(Seconds(first.at - points[0].at)) : nlohmann::json();
  result["events"] = points.back().count;
  result["complete"] = points.back().count >= backlog.events;
  result["events_per_second"] = RateBetween(first, points.back());
  result["warm_events_per_second"] = to_kafka && warm != points.end()
                                         ? nlohmann::json(RateBetween(*warm, points.back()))
                                         : nlohmann::json();
  nlohmann::json over_time = nlohmann::json::array();
  for (const Point& point : points)
    over_time.push_back({Seconds(point.at - points[0].at), point.count});
  result["delivered_over_time"] = std::move(over_time);
}

}  // namespace

absl::StatusOr<Backlog> BuildBacklog(Bench& bench) {
  Backlog backlog{
      .slot = "base", .events = bench.options.backlog, .aggregates = bench.options.aggregates};
  RETURN_IF_ERROR(bench.MakeTable());
  RETURN_IF_ERROR(bench.postgres->Execute(
      "CREATE PUBLICATION bench FOR TABLE outbox WITH (publish = 'insert')"));
  RETURN_IF_ERROR(
      bench.postgres->Execute("SELECT pg_create_logical_replication_slot('base', 'pgoutput')"));
  const std::int64_t half = backlog.events / 2;
  const std::int64_t nine_tenths = backlog.events * 9 / 10;
  RETURN_IF_ERROR(bench.postgres->Execute(Loop(0, half - 1, 1, bench.options)));
  RETURN_IF_ERROR(bench.postgres->Execute(Loop(half, nine_tenths - 1, 50, bench.options)));
  RETURN_IF_ERROR(bench.postgres->Execute(
      Loop(nine_tenths, backlog.events - 1, std::max<std::int64_t>(1, backlog.events - nine_tenths),
           bench.options)));
  ASSIGN_OR_RETURN(backlog.end, bench.postgres->CurrentLsn());
  return backlog;
}

absl::Status DropBacklog(Bench& bench, const Backlog& backlog) {
  return bench.postgres->Execute(
      absl::StrCat("SELECT pg_drop_replication_slot('", backlog.slot, "')"));
}

absl::StatusOr<nlohmann::json> DrainOnce(Bench& bench, const Target& target,
                                         const Backlog& backlog) {
  const bool to_kafka = target.delivers() == Delivers::kToKafka;
  if (target.reads() == Reads::kTable) RETURN_IF_ERROR(MakeUnpublished(bench, target));
  ASSIGN_OR_RETURN(Assignment assignment, bench.PrepareCopy(target, backlog.slot));
  assignment.end = backlog.end;
  Meter meter(bench, assignment, backlog);
  RETURN_IF_ERROR(meter.Start());
  ASSIGN_OR_RETURN(const std::unique_ptr<RunningTarget> running,
                   RunningTarget::Start(target, assignment, *bench.postgres));
  const Cost begin{.at = running->started()};
  // For the process on the server's side; a target that drains faster than this sees it is done already.
  RETURN_IF_ERROR(running->WaitReady(absl::Seconds(60)));
  ASSIGN_OR_RETURN(const std::vector<Point> points, Follow(bench, meter, *running, backlog));
  const Cost end = running->CostNow();
  running->Stop();
  nlohmann::json result = {{"target", target.name()},
                           {"transport", bench.options.unix_socket ? "unix" : "tcp"}};
  AddRates(points, backlog, to_kafka, result);
  result["cost"] = CostBetween(begin, end, points.back().count);
  result["usage"] = running->Series(running->started());
  if (to_kafka) {
    ASSIGN_OR_RETURN(const Correctness check,
                     CheckTopic(bench, assignment, backlog, result["complete"].get<bool>()));
    bench.Judge(absl::StrCat("drain by ", target.name()), check);
    result["correctness"] = check.ToJson();
  }
  RETURN_IF_ERROR(bench.CleanUp(assignment));
  return result;
}

}  // namespace walpost::bench
