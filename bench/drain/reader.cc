// The walsender's own limit: a client that reads and drops.
//
//   reader DSN SLOT PUBLICATION END_LSN PAUSE_MICROSECONDS
//
// After each wake it pauses, then reads until the socket is empty; it decodes nothing but the LSNs
// it needs to know when it is done, confirms END_LSN once it has seen it, and exits. See
// bench/README.md.
#include <libpq-fe.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/lsn.h"
#include "capture/wal/frame.h"

namespace {

void Die(PGconn* connection, const char* what) {
  std::fprintf(stderr, "%s: %s", what, PQerrorMessage(connection));
  std::exit(1);
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: reader DSN SLOT PUBLICATION END_LSN PAUSE_MICROSECONDS\n");
    return 64;
  }
  const std::uint64_t end = walpost::ParseLsn(argv[4]).value_or(walpost::Lsn()).value;
  const auto pause = static_cast<useconds_t>(std::atoi(argv[5]));
  const std::string dsn = std::string(argv[1]) + " replication=database";
  PGconn* connection = PQconnectdb(dsn.c_str());
  if (PQstatus(connection) != CONNECTION_OK) Die(connection, "connect");
  const std::string start = std::string("START_REPLICATION SLOT ") + argv[2] +
                            " LOGICAL 0/0 (proto_version '1', binary 'true', publication_names '" +
                            argv[3] + "')";
  PGresult* started = PQexec(connection, start.c_str());
  if (PQresultStatus(started) != PGRES_COPY_BOTH) Die(connection, "start");
  PQclear(started);
  PQsetnonblocking(connection, 1);

  std::uint64_t seen = 0;
  while (seen < end) {
    pollfd readable = {PQsocket(connection), POLLIN, 0};
    ::poll(&readable, 1, 1000);
    if (pause > 0) usleep(pause);
    bool got = true;
    while (got) {
      got = false;
      if (PQconsumeInput(connection) == 0) Die(connection, "read");
      char* frame = nullptr;
      int size = 0;
      while ((size = PQgetCopyData(connection, &frame, 1)) > 0) {
        got = true;
        const std::uint64_t told = EndOf(frame, size);
        if (told > seen) seen = told;
        PQfreemem(frame);
      }
      if (size < 0) Die(connection, "stream");
    }
  }
  const std::string status = walpost::capture::EncodeStatusUpdate(
      {walpost::Lsn(end), walpost::Lsn(end), true}, absl::Now());
  PQputCopyData(connection, status.data(), static_cast<int>(status.size()));
  while (PQflush(connection) == 1) {
  }
  // Until the server has answered: only then has it read the status.
  for (bool answered = false; !answered;) {
    pollfd readable = {PQsocket(connection), POLLIN, 0};
    ::poll(&readable, 1, 1000);
    if (PQconsumeInput(connection) == 0) Die(connection, "read");
    char* frame = nullptr;
    while (PQgetCopyData(connection, &frame, 1) > 0) {
      answered = answered || frame[0] == 'k';
      PQfreemem(frame);
    }
  }
  PQfinish(connection);
  return 0;
}
