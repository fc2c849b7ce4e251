// What `walpost setup` has to do, given what there is: pure, no I/O.
//
// The order is part of the contract: table, publication, role, slot. A publication is looked up as
// of the WAL position that is decoded, so it must be committed before the slot is made; and the
// slot comes last, since it holds WAL back from then on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capture/wal/slot_health.h"
#include "outbox_shapes.h"

namespace walpost {

struct SetupRequest {
  std::string slot;
  std::string publication;
  std::vector<capture::TableName> tables;
  const OutboxShape* shape = nullptr;  // make the table (then there is one) where it doesn't exist
  std::string role;                    // a least-privilege role to make; "" for none
};

struct TableFacts {
  bool schema_exists = false;
  bool exists = false;
  char kind = ' ';         // relkind: r ordinary, p partitioned, v view, ...
  char persistence = 'p';  // relpersistence: p permanent, u unlogged, t temporary
  std::vector<std::string> columns;
};

struct RoleFacts {
  bool exists = false;
  bool may_log_in = false;
  bool may_replicate = false;  // REPLICATION, superuser, or a member of a cloud's role for it
  bool may_connect = false;    // to this database
};

struct SetupFacts {
  capture::CatalogFacts catalog;
  bool publishes_via_root = false;
  bool publishes_all_tables = false;
  std::vector<TableFacts> tables;  // as many as asked for, in that order
  RoleFacts role;
};

struct SetupStep {
  enum class Kind { kTable, kPublication, kRole, kSlot };
  Kind kind = Kind::kTable;
  std::string thing;  // "table public.outbox", safe to print on one line
  std::string sql;    // one or more statements, run together; "" if it is there already
};

// Errors: kFailedPrecondition with HINT and exit code: something exists and doesn't fit, or is
// missing and not to be made.
absl::StatusOr<std::vector<SetupStep>> PlanSetup(const SetupRequest& request,
                                                 const SetupFacts& facts);

// The plan as a script for psql, on which setup --apply has nothing left to add.
std::string RenderSetup(const std::vector<SetupStep>& steps, std::string_view database);

}  // namespace walpost
