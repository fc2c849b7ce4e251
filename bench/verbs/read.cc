// The walsender's own limit: a client that reads and drops. The walsender makes one send() a message;
// a client that wakes for each one slows it down, so this one pauses after each wake and then reads
// until the socket is empty. It decodes no more than it needs to know when it is done.
#include <libpq-fe.h>
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/lsn.h"
#include "capture/wal/frame.h"
#include "harness/waiting.h"
#include "verbs/bench_verbs.h"

namespace walpost::bench {
namespace {

[[noreturn]] void Die(PGconn* connection, const char* what) {
  std::fprintf(stderr, "%s: %s", what, PQerrorMessage(connection));
  std::exit(69);
}

std::uint64_t Int64At(const char* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The furthest end of a transaction or of decoded WAL that the frame tells of.
std::uint64_t EndOf(const char* frame, int size) {
  if (frame[0] == 'k') return Int64At(frame + 1);
  if (size >= 25 + 18 && frame[25] == 'C') return Int64At(frame + 25 + 10);
  return 0;
}

// Waits, pauses, reads what is there and gives each frame to `take`.
template <typename Take>
void ReadOnce(PGconn* connection, int pause_us, const Take& take) {
  pollfd readable = {PQsocket(connection), POLLIN, 0};
  ::poll(&readable, 1, 1000);
  if (pause_us > 0) SleepUntil(MonotonicNow() + absl::Microseconds(pause_us));
  for (bool got = true; got;) {
    got = false;
    if (PQconsumeInput(connection) == 0) Die(connection, "read");
    char* frame = nullptr;
    int size = 0;
    while ((size = PQgetCopyData(connection, &frame, 1)) > 0) {
      got = true;
      take(frame, size);
      PQfreemem(frame);
    }
    if (size < 0) Die(connection, "stream");
  }
}

void Confirm(PGconn* connection, Lsn end) {
  const std::string status = capture::EncodeStatusUpdate({end, end, true}, absl::Now());
  PQputCopyData(connection, status.data(), static_cast<int>(status.size()));
  while (PQflush(connection) == 1) {
  }
  // Until the server has answered: only then has it read the status.
  bool answered = false;
  while (!answered) {
    ReadOnce(connection, 0,
             [&](const char* frame, int) { answered = answered || frame[0] == 'k'; });
  }
}

}  // namespace

int VerbRead(const ReadArgs& args) {
  const Lsn end = ParseLsn(args.end).value_or(Lsn());
  PGconn* connection = PQconnectdb((args.dsn + " replication=database").c_str());
  if (PQstatus(connection) != CONNECTION_OK) Die(connection, "connect");
  PGresult* started =
      PQexec(connection,
             absl::StrCat("START_REPLICATION SLOT ", args.slot,
                          " LOGICAL 0/0 (proto_version '1', binary 'true', publication_names '",
                          args.publication, "')")
                 .c_str());
  if (PQresultStatus(started) != PGRES_COPY_BOTH) Die(connection, "start");
  PQclear(started);
  PQsetnonblocking(connection, 1);
  std::uint64_t seen = 0;
  while (seen < end.value) {
    ReadOnce(connection, args.pause_us,
             [&](const char* frame, int size) { seen = std::max(seen, EndOf(frame, size)); });
  }
  Confirm(connection, end);
  PQfinish(connection);
  return 0;
}

}  // namespace walpost::bench
