// One query for everything the relay and the slot commands judge: slot, publication, server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/pq.h"
#include "capture/wal/slot_health.h"

namespace walpost::capture {

struct CatalogQuestion {
  std::string slot;
  std::string publication;
  std::vector<TableName> tables;
};

// The SQL, for servers 14 and newer; columns that a version lacks come as NULL. Needs no privilege
// beyond those of any role.
std::string CatalogSql(const PgSession& session, const CatalogQuestion& question);

// Errors: kInternal if the rows aren't of that query.
absl::StatusOr<CatalogFacts> ReadCatalog(const PgRows& rows, const CatalogQuestion& question,
                                         int server_version);

}  // namespace walpost::capture
