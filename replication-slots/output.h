// How facts become text: tables for people, JSON, NDJSON and CSV for programs. Bytes are integers,
// LSNs text, times RFC 3339 UTC in all but tables.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "catalogue.h"
#include "nlohmann/json.hpp"
#include "server.h"

namespace walpost::slots {

using Json = nlohmann::ordered_json;

// "1.5 GiB", "3h20m"; "-" for what isn't known.
std::string Bytes(std::optional<std::int64_t> bytes);
std::string Age(std::optional<absl::Duration> age);
std::string Text(std::optional<Lsn> lsn);
std::string_view NameOf(capture::Severity severity);  // OK | WARN | CRIT

// The same for JSON: null for what isn't known.
Json Value(std::optional<Lsn> lsn);
template <typename T>
Json Value(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json TextOrNull(const std::string& text);

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
// How many characters a line may have: COLUMNS, or what the terminal has; npos elsewhere.
std::size_t LineWidth();
// Its first `width` characters.
std::string_view Cut(std::string_view text, std::size_t width);

// Columns side by side, as wide as they need to be; a line ends where the screen does.
void PrintTable(const Table& table, std::ostream& out);

// {"version": 1, "command": ..., "server": {...}}, to be added to. Keys are only ever added.
Json Document(std::string_view command, const Server& server);
Json ToJson(const SlotRow& slot);
// One line each.
void PrintJson(const Json& json, std::ostream& out);
// Objects with the same keys: a header, then one line each (RFC 4180); what is nested is JSON text.
void PrintCsv(const std::vector<Json>& objects, std::ostream& out);

// The slots in the format that was asked for: a table, one document, or an object a line.
void PrintSlots(std::string_view format, std::string_view command, const Server& server,
                const std::vector<SlotRow>& slots, std::optional<double> wal_rate,
                std::ostream& out);

}  // namespace walpost::slots
