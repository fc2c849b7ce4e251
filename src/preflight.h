// What `walpost check` finds: a list of points, each good, doubtful or bad, with the reason and what
// fixes it. Pure; verb_check.cc gathers the facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/exit_code.h"
#include "capture/wal/slot_health.h"

namespace walpost {

enum class Mark { kGood, kDoubtful, kBad };

struct CheckPoint {
  Mark mark = Mark::kGood;
  std::string what;               // the thing: "slot 'orders'"
  std::string detail;             // one line
  std::string fix;                // exact SQL, command or key; "" when good
  ExitCode exit = ExitCode::kOk;  // where it is bad
};

// A point from a status: good with `detail` if OK.
CheckPoint PointOf(std::string what, const absl::Status& status, std::string detail = "");

struct TableCounts {
  capture::TableName table;
  absl::Status mapping;          // of its columns to an event's fields
  std::int64_t rows = 0;         // that are there
  std::int64_t rows_before = 0;  // of those, committed before the slot's position
  std::int64_t updates = 0;      // of rows since the statistics were reset
  std::int64_t deletes = 0;
  bool updates_now = false;  // while it was looked at
};

struct PreflightFacts {
  capture::CatalogFacts catalog;
  bool may_replicate = false;
  std::string role;
  std::string sslmode;  // as the connection was made; "" for a Unix socket or loopback
  bool encrypted = false;
  std::int64_t free_walsenders = 0;
  std::int64_t max_slot_wal_keep_size_mb = -1;  // -1: unlimited
  std::int64_t retained_bytes = 0;
  std::vector<TableCounts> tables;
};

// Everything that Postgres alone can say.
std::vector<CheckPoint> JudgePostgres(const PreflightFacts& facts);

// One line each: ✓, ! or ✗. The fix stands below what is not good.
std::string RenderText(const std::vector<CheckPoint>& points);
std::string RenderJson(const std::vector<CheckPoint>& points);

// Of the first bad point; kOk if there is none.
ExitCode ExitOf(const std::vector<CheckPoint>& points);

}  // namespace walpost
