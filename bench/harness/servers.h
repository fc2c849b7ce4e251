// The Postgres and the broker that every target of a run shares, made by tools/temp_postgres and
// tools/temp_kafka and dropped with the object.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/pq.h"

namespace walpost::bench {

// Thread: one.
class Postgres {
 public:
  // In `directory`/postgres; listens on loopback and on a Unix socket. `count_statements` loads
  // pg_stat_statements, which costs each statement a little.
  static absl::StatusOr<std::unique_ptr<Postgres>> Start(const std::string& tools,
                                                         const std::string& directory,
                                                         bool count_statements);
  ~Postgres();

  std::string dsn(bool unix_socket) const;
  std::string port() const { return port_; }
  std::string program(const std::string& name) const { return bin_ + "/" + name; }
  std::string version() const { return version_; }

  // Runs statements; each error names the statement.
  absl::StatusOr<PgRows> Query(const std::string& sql);
  absl::Status Execute(const std::string& sql) { return Query(sql).status(); }
  // The first row's column `value`, "" if there is none.
  absl::StatusOr<std::string> Value(const std::string& sql);
  absl::StatusOr<Lsn> CurrentLsn();

 private:
  Postgres() = default;
  std::string tools_, directory_, socket_, port_, bin_, version_;
  std::unique_ptr<PgSession> session_;
};

// The first row's column as a whole number; 0 for NULL, or without a row.
std::int64_t NumberIn(const PgRows& rows, const char* column);

// Thread: one.
class Kafka {
 public:
  static absl::StatusOr<std::unique_ptr<Kafka>> Start(const std::string& tools,
                                                      const std::string& directory);
  ~Kafka();

  std::string bootstrap() const { return bootstrap_; }
  std::string version() const { return version_; }
  // The fault of the outage scenario: SIGKILL, and a start with the same data and port.
  absl::Status Kill();
  absl::Status StartAgain();

  // A new topic whose records carry the broker's own time (LogAppendTime).
  absl::Status CreateTopic(const std::string& topic, int partitions);
  absl::Status DeleteTopic(const std::string& topic);

 private:
  Kafka() = default;
  std::string tools_, directory_, bootstrap_, version_;
};

}  // namespace walpost::bench
