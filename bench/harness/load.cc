#include "harness/load.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/sql_quote.h"
#include "base/status.h"
#include "base/string_view.h"
#include "harness/waiting.h"

namespace walpost::bench {
namespace {

constexpr char kIdPrefix[] = "00000000-0000-4000-8000-";
constexpr std::string_view kMarker = "\"seq\": ";

std::int64_t TransactionsOf(const LoadShape& shape, absl::Duration duration) {
  return std::llround(shape.events_per_second * absl::ToDoubleSeconds(duration) /
                      shape.rows_per_transaction);
}

absl::Status Failed(PGconn* connection, const char* what) {
  return Error(absl::StatusCode::kUnavailable,
               absl::StrCat("load: ", what, ": ", PQerrorMessage(connection)));
}

}  // namespace

std::int64_t KeyOf(const LoadShape& shape, std::int64_t number) {
  const std::int64_t writer = number / shape.rows_per_transaction % shape.writers;
  return writer * shape.aggregates + KeyNumber(number, shape.aggregates);
}

std::string EventId(std::int64_t number) { return absl::StrFormat("%s%012x", kIdPrefix, number); }

std::optional<std::int64_t> NumberOfId(std::string_view id) {
  const std::string_view prefix = kIdPrefix;
  if (id.size() != prefix.size() + 12 || !id.starts_with(prefix)) return std::nullopt;
  std::int64_t number = 0;
  if (!absl::SimpleHexAtoi(ToAbsl(id.substr(prefix.size())), &number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> NumberInValue(std::string_view value) {
  const std::size_t at = value.find(kMarker);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string digits(value.substr(at + kMarker.size(), 19));
  char* end = nullptr;
  const std::int64_t number = std::strtoll(digits.c_str(), &end, 10);
  if (end == digits.c_str()) return std::nullopt;
  return number;
}

std::string InsertEvents(const std::string& first, const std::string& last,
                         const std::string& prefix, int aggregates, int payload_bytes) {
  return absl::StrCat(
      "INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) SELECT ('",
      kIdPrefix, "' || lpad(to_hex(n), 12, '0'))::uuid, 'bench', ", QuoteLiteral(prefix),
      " || n / 8 % ", aggregates, ", 'placed', jsonb_build_object('seq', n, 'text', repeat('x', ",
      payload_bytes, ")) FROM generate_series((", first, ")::bigint, (", last, ")::bigint) n");
}

Load::Load(std::string dsn, const LoadShape& shape)
    : dsn_(std::move(dsn)),
      shape_(shape),
      transactions_(TransactionsOf(shape, shape.warm_up + shape.duration)),
      first_measured_(TransactionsOf(shape, shape.warm_up) * shape.rows_per_transaction),
      events_(static_cast<std::size_t>(transactions_ * shape.rows_per_transaction)),
      outcomes_(static_cast<std::size_t>(shape.writers)) {}

Load::~Load() {
  for (std::thread& writer : writers_) {
    if (writer.joinable()) writer.join();
  }
}

void Load::Start() {
  // Time for the writers to connect: their schedule is fixed before they do.
  started_ = MonotonicNow() + absl::Milliseconds(200);
  for (int writer = 0; writer < shape_.writers; ++writer)
    writers_.emplace_back([this, writer] { Write(writer); });
}

absl::Status Load::Join() {
  for (std::thread& writer : writers_) writer.join();
  writers_.clear();
  for (const absl::Status& outcome : outcomes_) RETURN_IF_ERROR(outcome);
  return absl::OkStatus();
}

void Load::Write(int writer) { outcomes_[static_cast<std::size_t>(writer)] = WriteAll(writer); }

absl::Status Load::WriteAll(int writer) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(
      PQconnectdb((dsn_ + " application_name=walpost-bench-load").c_str()), &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) return Failed(connection.get(), "connect");
  const std::string insert = InsertEvents("$1", "$2", absl::StrCat("w", writer, "-"),
                                          shape_.aggregates, shape_.payload_bytes);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> prepared(
      PQprepare(connection.get(), "insert", insert.c_str(), 0, nullptr), &PQclear);
  if (PQresultStatus(prepared.get()) != PGRES_COMMAND_OK)
    return Failed(connection.get(), "prepare");

  const absl::Duration apart =
      absl::Seconds(shape_.rows_per_transaction / shape_.events_per_second);
  for (std::int64_t transaction = writer; transaction < transactions_;
       transaction += shape_.writers) {
    const MonotonicTime intended = started_ + apart * static_cast<double>(transaction);
    SleepUntil(intended);
    if (Interrupted()) return Error(absl::StatusCode::kCancelled, "interrupted");
    const std::int64_t first = transaction * shape_.rows_per_transaction;
    const std::int64_t last = first + shape_.rows_per_transaction - 1;
    const std::string first_text = absl::StrCat(first);
    const std::string last_text = absl::StrCat(last);
    const char* values[] = {first_text.c_str(), last_text.c_str()};
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecPrepared(connection.get(), "insert", 2, values, nullptr, nullptr, 0), &PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) return Failed(connection.get(), "insert");
    const std::int64_t committed = MonotonicNow().nanoseconds();
    for (std::int64_t n = first; n <= last; ++n) {
      events_[static_cast<std::size_t>(n)] = {intended.nanoseconds(), committed};
    }
  }
  return absl::OkStatus();
}

}  // namespace walpost::bench
