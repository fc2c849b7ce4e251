#include "scenarios/backlog.h"

#include <algorithm>
#include <cstdio>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/running.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(10);
// Without a new event: more than the longest pause of a poller.
constexpr absl::Duration kRest = absl::Seconds(12);
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

  // Whether it sees more than all or none.
  bool counts() const { return counter_ != nullptr; }

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

// What was seen of a drain.
struct Course {
  std::vector<Point> points;  // where the count rose; the first is where it began
  Cost first;                 // what was used up when the first event was there
  bool at_rest = false;       // it isn't all there, and nothing more comes
};

// Follows the target until all is there, nothing more comes, or the limit passed.
absl::StatusOr<Course> Follow(Bench& bench, Meter& meter, RunningTarget& running,
                              const Backlog& backlog) {
  Course course{.points = {{running.started(), 0}}, .first = {.at = running.started()}};
  absl::Status failure;
  MonotonicTime last_rise = MonotonicNow();
  WaitUntil(
      bench.options.drain_limit,
      [&] {
        const bool ended = running.Ended();
        const absl::StatusOr<std::int64_t> count = meter.Count(ended);
        failure = count.ok() ? running.Alive() : count.status();
        if (!failure.ok()) return true;
        if (*count > course.points.back().count) {
          last_rise = MonotonicNow();
          if (course.points.size() == 1 && meter.counts()) course.first = running.CostNow();
          course.points.push_back({last_rise, *count});
        }
        if (course.points.back().count >= backlog.events) return true;
        course.at_rest = ended || MonotonicNow() - last_rise > kRest;
        return meter.counts() && course.at_rest;
      },
      kLook);
  if (!failure.ok()) return failure;
  return course;
}

absl::StatusOr<Correctness> CheckTopic(Bench& bench, const Assignment& assignment,
                                       const Backlog& backlog, bool at_rest) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Observer> observer,
                   Observer::Start(assignment.bootstrap, assignment.topic, bench.options.partitions,
                                   backlog.events));
  observer->WaitFor(backlog.events, absl::Seconds(5), absl::Minutes(2));
  // Duplicates and phantoms may lie behind the last event.
  observer->WaitFor(backlog.events + 1, absl::Milliseconds(500), absl::Minutes(1));
  observer->Stop();
  return Check(
      observer->deliveries(), std::vector<bool>(static_cast<std::size_t>(backlog.events), true),
      [&](std::int64_t number) { return KeyNumber(number, backlog.aggregates); }, at_rest);
}

void AddRates(const std::vector<Point>& points, const Backlog& backlog, bool to_kafka,
              nlohmann::json& result) {
  const auto warm = std::find_if(points.begin(), points.end(), [&](const Point& point) {
    return static_cast<double>(point.count) >= kWarmShare * static_cast<double>(backlog.events);
  });
  // Without a counter nothing is known but the whole, and of two points no more: the rate includes
  // the start.
  const Point& first = to_kafka && points.size() > 2 ? points[1] : points[0];
  const Point& last = points.back();
  result["seconds"] = Seconds(points.back().at - points[0].at);
  result["start_to_first_seconds"] = to_kafka && points.size() > 1
                                         ? nlohmann::json(Seconds(points[1].at - points[0].at))
                                         : nlohmann::json();
  // For ratios to those that only read, whose rate can't be anything else.
  result["events_per_second_from_start"] = RateBetween(points[0], last);
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

void DropBacklog(Bench& bench, const Backlog& backlog) {
  const absl::Status dropped = bench.postgres->Execute(absl::StrCat(
      "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '",
      backlog.slot, "'"));
  if (!dropped.ok()) std::fprintf(stderr, "%s\n", std::string(dropped.message()).c_str());
}

absl::StatusOr<Backlog> BuildBacklog(Bench& bench) {
  Backlog backlog{
      .slot = "base", .events = bench.options.backlog, .aggregates = bench.options.aggregates};
  RETURN_IF_ERROR(bench.MakeTable());
  RETURN_IF_ERROR(bench.postgres->Execute(
      "CREATE PUBLICATION bench FOR TABLE outbox WITH (publish = 'insert')"));
  DropBacklog(bench, backlog);  // of a scenario that failed
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

absl::StatusOr<nlohmann::json> DrainOnce(Bench& bench, const Target& target,
                                         const Backlog& backlog) {
  const bool to_kafka = target.delivers() == Delivers::kToKafka;
  if (target.reads() == Reads::kTable) RETURN_IF_ERROR(MakeUnpublished(bench, target));
  ASSIGN_OR_RETURN(Assignment assignment, bench.PrepareCopy(target, backlog.slot));
  const absl::Cleanup clean_up = [&] { bench.CleanUp(assignment); };
  assignment.end = backlog.end;
  Meter meter(bench, assignment, backlog);
  RETURN_IF_ERROR(meter.Start());
  ASSIGN_OR_RETURN(const std::unique_ptr<RunningTarget> running,
                   RunningTarget::Start(target, assignment, *bench.postgres));
  // For the process on the server's side; a target that drains faster than this sees it is done already.
  RETURN_IF_ERROR(running->WaitReady(absl::Seconds(60)));
  ASSIGN_OR_RETURN(const Course course, Follow(bench, meter, *running, backlog));
  Cost end = running->CostNow();
  if (running->Ended()) {  // Its last tenth of a second is in no sample.
    end.target.cpu_seconds = std::max(end.target.cpu_seconds, running->exit_cpu_seconds());
  }
  running->Stop();
  nlohmann::json result = {{"target", target.name()},
                           {"transport", bench.options.unix_socket ? "unix" : "tcp"}};
  AddRates(course.points, backlog, to_kafka, result);
  // Up to the first event a JVM's start was paid for; what came with that look is left out on both sides.
  const std::int64_t before =
      meter.counts() && course.points.size() > 2 ? course.points[1].count : 0;
  result["cost"] = CostBetween(before > 0 ? course.first : Cost{.at = running->started()}, end,
                               course.points.back().count - before);
  result["usage"] = running->Series(running->started());
  if (to_kafka) {
    ASSIGN_OR_RETURN(const Correctness check,
                     CheckTopic(bench, assignment, backlog, course.at_rest));
    bench.Judge(absl::StrCat("drain by ", target.name()), check);
    result["correctness"] = check.ToJson();
  }
  return result;
}

}  // namespace walpost::bench
