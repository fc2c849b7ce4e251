// The result of a run as one JSON object, and what it says in a few lines of text.
//
// Schema 1: {"schema", "started_at", "host", "options", "versions", "settings", "wrong", "scenarios": {…}}.
// Histograms hold their buckets (harness/histogram.h), so results of several runs can be merged.
// A number's meaning doesn't change within a schema; fields may be added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost::bench {

inline constexpr int kResultSchema = 1;

// Errors: kInvalidArgument (no such file, no result, a schema that this version doesn't know).
absl::StatusOr<nlohmann::json> ReadResult(const std::string& file);

// "1000 events/s", and of how many rows a transaction is, if of more than one.
std::string RateOf(const nlohmann::json& row);

// Tables of the headline figures, ratios first.
std::string TextSummary(const nlohmann::json& result);

// A table: the first row is its heading.
using Table = std::vector<std::vector<std::string>>;
struct TitledTable {
  std::string title;
  std::string note;
  Table rows;
};
// Those of a result, in the order of its scenarios; text and HTML show the same ones.
std::vector<TitledTable> TablesOf(const nlohmann::json& result);

}  // namespace walpost::bench
