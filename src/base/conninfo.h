// Connection flags as psql has them, laid over a connection string. libpq resolves the result: PG*
// variables, service and password files fill in what is not said.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walpost {

struct ConnectionFlags {
  std::string dsn;   // -d, --dsn: a database name, a conninfo string or a URI
  std::string host;  // -h
  std::string port;  // -p
  std::string user;  // -U
};

// `dsn` overridden by what the flags name. A conninfo string or URI in flags.dsn replaces `dsn`; a
// plain name there replaces its database only.
std::string ApplyConnectionFlags(std::string_view dsn, const ConnectionFlags& flags);

// `value` as it may follow `before` in a connection string or URI without changing what stands
// around it: a password with a blank or a slash stays a password.
std::string EscapeIntoDsn(std::string_view before, std::string_view value);

// Stands for a reference in a text whose own words are looked at.
inline constexpr char kReferenceMark = '\x01';

// A password written out in `dsn`; one that begins with kReferenceMark isn't.
bool HasPassword(std::string_view dsn);

// Refuses a password in flags.dsn: `ps` shows it to every user of the host. Errors:
// kInvalidArgument with a HINT and the exit code of a usage error.
absl::Status CheckConnectionFlags(const ConnectionFlags& flags);

}  // namespace walpost
