// The polling relay's loop: take, produce, wait for the broker, mark.
#include <libpq-fe.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "harness/producer.h"
#include "harness/waiting.h"
#include "targets/poller.h"
#include "verbs/bench_verbs.h"

namespace walpost::bench {
namespace {

using Result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

class PollingRelay {
 public:
  PollingRelay(PGconn* connection, const PollPreset& preset, Producer& producer)
      : connection_(connection), preset_(preset), producer_(producer) {}

  absl::Status Prepare() {
    RETURN_IF_ERROR(
        Check(PQprepare(connection_, "take", std::string(preset_.take).c_str(), 0, nullptr))
            .status());
    return Check(PQprepare(connection_, "done", std::string(preset_.done).c_str(), 0, nullptr))
        .status();
  }

  absl::Status Round() {
    if (preset_.holds_locks) RETURN_IF_ERROR(Check(PQexec(connection_, "BEGIN")).status());
    ASSIGN_OR_RETURN(const Result rows,
                     Check(PQexecPrepared(connection_, "take", 0, nullptr, nullptr, nullptr, 0)));
    const int count = PQntuples(rows.get());
    // UPDATE … RETURNING has no order of its own.
    std::vector<int> order(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
    const auto text = [&](int row, int column) {
      return std::string_view(PQgetvalue(rows.get(), row, column));
    };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return text(a, 0) < text(b, 0); });
    std::vector<std::string> ids;
    for (const int row : order) {
      RETURN_IF_ERROR(producer_.Send(0, text(row, 0), text(row, 1), text(row, 2)));
      ids.emplace_back(text(row, 0));
    }
    if (count > 0) {
      RETURN_IF_ERROR(producer_.Flush());
      RETURN_IF_ERROR(MarkDone(ids));
    }
    if (preset_.holds_locks) RETURN_IF_ERROR(Check(PQexec(connection_, "COMMIT")).status());
    return absl::OkStatus();
  }

 private:
  absl::Status MarkDone(const std::vector<std::string>& ids) {
    const std::string array = absl::StrCat("{", absl::StrJoin(ids, ","), "}");
    const char* values[] = {array.c_str()};
    return Check(PQexecPrepared(connection_, "done", 1, values, nullptr, nullptr, 0)).status();
  }

  absl::StatusOr<Result> Check(PGresult* raw) const {
    Result result(raw, &PQclear);
    const ExecStatusType status = PQresultStatus(raw);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      return Error(absl::StatusCode::kUnavailable, PQerrorMessage(connection_));
    }
    return result;
  }

  PGconn* const connection_;
  const PollPreset& preset_;
  Producer& producer_;
};

absl::Status Poll(const PollArgs& args) {
  const PollPreset* preset = FindPollPreset(args.preset);
  if (preset == nullptr)
    return Error(absl::StatusCode::kInvalidArgument, absl::StrCat("no preset ", args.preset));
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(
      PQconnectdb(absl::StrCat(args.dsn, " application_name=", kPollerApplication).c_str()),
      &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return Error(absl::StatusCode::kUnavailable, PQerrorMessage(connection.get()));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Producer> producer,
                   Producer::Start(args.bootstrap, args.topic));
  PollingRelay relay(connection.get(), *preset, *producer);
  RETURN_IF_ERROR(relay.Prepare());
  for (;;) {
    RETURN_IF_ERROR(relay.Round());
    if (preset->pause > absl::ZeroDuration()) SleepUntil(MonotonicNow() + preset->pause);
  }
}

}  // namespace

int VerbPoll(const PollArgs& args) {
  const absl::Status status = Poll(args);
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 69;
}

}  // namespace walpost::bench
