#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/string_view.h"

namespace walpost::slots {
namespace {

// Characters, not bytes: a name may be any text.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string CsvField(const Json& value) {
  if (value.is_null()) return "";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

bool Colours(const std::ostream& out) {
  const char* no = std::getenv("NO_COLOR");
  return &out == &std::cout && (no == nullptr || *no == '\0') && isatty(STDOUT_FILENO) == 1;
}

std::string Holder(const SlotRow& slot) {
  if (slot.situation.synced) return "(synced copy)";
  if (!slot.situation.active) {
    return slot.situation.inactive_for ? "nobody for " + Age(slot.situation.inactive_for)
                                       : "nobody";
  }
  std::string holder = slot.active_pid ? absl::StrCat("pid ", *slot.active_pid) : "active";
  if (!slot.application_name.empty()) absl::StrAppend(&holder, " ", slot.application_name);
  if (!slot.client_addr.empty()) absl::StrAppend(&holder, "@", slot.client_addr);
  return holder;
}

std::string Flags(const SlotRow& slot) {
  std::string flags;
  const auto add = [&flags](bool is, std::string_view name) {
    if (is) absl::StrAppend(&flags, flags.empty() ? "" : ",", ToAbsl(name));
  };
  add(!slot.situation.logical, "physical");
  add(slot.situation.temporary, "temporary");
  add(slot.failover, "failover");
  add(slot.situation.synced, "synced");
  add(slot.two_phase, "two_phase");
  return flags.empty() ? "-" : flags;
}

void PrintSlotTable(const std::vector<SlotRow>& slots, std::ostream& out) {
  Table table{{"VERDICT", "SLOT", "PLUGIN", "DATABASE", "FLAGS", "HELD BY", "WAL", "RETAINED",
               "UNCONFIRMED", "UNTIL LOST", "TIME LEFT", "XMIN AGE", "SPILLED"},
              {}};
  for (const SlotRow& slot : slots) {
    const capture::SlotSituation& s = slot.situation;
    table.rows.push_back({std::string(NameOf(slot.verdict.severity)), s.name,
                          slot.plugin.empty() ? "-" : slot.plugin,
                          slot.database.empty() ? "-" : slot.database, Flags(slot), Holder(slot),
                          s.wal_status.empty() ? "-" : s.wal_status, Bytes(s.retained_bytes),
                          Bytes(s.unconfirmed_bytes),
                          s.safe_wal_size ? Bytes(s.safe_wal_size) : "no limit",
                          Age(slot.verdict.time_to_invalidation),
                          slot.catalog_xmin_age ? absl::StrCat(*slot.catalog_xmin_age) : "-",
                          Bytes(slot.spill_bytes)});
    if (s.wal_status == "lost") table.rows.back()[9] = "lost";
  }
  PrintTable(table, out);
  for (const SlotRow& slot : slots) {
    if (slot.verdict.reason.empty()) continue;
    out << NameOf(slot.verdict.severity) << " " << slot.name() << ": " << slot.verdict.reason
        << (slot.verdict.hint.empty() ? "" : " → ") << slot.verdict.hint << "\n";
  }
}

}  // namespace

std::string Bytes(std::optional<std::int64_t> bytes) {
  if (!bytes) return "-";
  static constexpr const char* kUnits[] = {"B", "kiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(*bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  return unit == 0 ? absl::StrCat(*bytes, " B") : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string Age(std::optional<absl::Duration> age) {
  if (!age) return "-";
  if (*age > absl::Hours(24 * 365 * 10)) return ">10y";
  const std::int64_t seconds = absl::ToInt64Seconds(*age);
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh%02dm", seconds / 3600, seconds / 60 % 60);
  return absl::StrFormat("%dd%02dh", seconds / 86400, seconds / 3600 % 24);
}

std::string Text(std::optional<Lsn> lsn) { return lsn ? FormatLsn(*lsn) : "-"; }

std::string_view NameOf(capture::Severity severity) {
  static constexpr std::string_view kNames[] = {"OK", "WARN", "CRIT"};
  return kNames[static_cast<std::size_t>(severity)];
}

Json Value(std::optional<Lsn> lsn) { return lsn ? Json(FormatLsn(*lsn)) : Json(nullptr); }
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::size_t LineWidth() {
  std::size_t width = 0;
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr && absl::SimpleAtoi(columns, &width) && width > 0) return width;
  winsize size{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
                 size.ws_col > 0
             ? size.ws_col
             : std::string::npos;
}

std::string_view Cut(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t next = end + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    if (width-- == 0) break;
    end = next;
  }
  return text.substr(0, end);
}

void PrintTable(const Table& table, std::ostream& out) {
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(Width(column));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  const bool colours = Colours(out);
  const std::size_t width = &out == &std::cout ? LineWidth() : std::string::npos;
  const auto line = [&](const std::vector<std::string>& row) {
    std::size_t left = width;
    for (std::size_t i = 0; i < row.size() && left > 0; ++i) {
      const std::string_view cell = Cut(row[i], left);
      const char* colour = cell == "CRIT" || cell == "✗"   ? "\x1b[31m"
                           : cell == "WARN" || cell == "!" ? "\x1b[33m"
                                                           : "";
      const bool coloured = colours && *colour != '\0';
      out << (coloured ? colour : "") << cell << (coloured ? "\x1b[0m" : "");
      if (i + 1 == row.size()) break;
      const std::size_t gap = std::min(left, widths[i] + 2) - Width(cell);
      out << std::string(gap, ' ');
      left -= Width(cell) + gap;
    }
    out << "\n";
  };
  line(table.columns);
  for (const auto& row : table.rows) line(row);
}

Json Document(std::string_view command, const Server& server) {
  Json json;
  json["version"] = 1;
  json["command"] = command;
  json["server"] = {{"version", server.version()},
                    {"database", server.database()},
                    {"in_recovery", server.in_recovery()},
                    {"wal_end", FormatLsn(server.wal_end())}};
  return json;
}

Json ToJson(const SlotRow& slot) {
  const capture::SlotSituation& s = slot.situation;
  const auto seconds = [](const std::optional<absl::Duration>& time) {
    return time ? Json(absl::ToDoubleSeconds(*time)) : Json(nullptr);
  };
  Json json;
  json["slot_name"] = s.name;
  json["slot_type"] = s.logical ? "logical" : "physical";
  json["plugin"] = TextOrNull(slot.plugin);
  json["database"] = TextOrNull(slot.database);
  json["temporary"] = s.temporary;
  json["failover"] = slot.failover;
  json["synced"] = s.synced;
  json["two_phase"] = slot.two_phase;
  json["active"] = s.active;
  json["active_pid"] = Value(slot.active_pid);
  json["application_name"] = TextOrNull(slot.application_name);
  json["client_addr"] = TextOrNull(slot.client_addr);
  json["active_since"] = TextOrNull(slot.active_since);
  json["inactive_since"] = TextOrNull(slot.inactive_since);
  json["wal_status"] = TextOrNull(s.wal_status);
  json["invalidation_reason"] = TextOrNull(s.invalidation_reason);
  json["restart_lsn"] = Value(slot.restart_lsn);
  json["confirmed_flush_lsn"] = Value(slot.confirmed_flush_lsn);
  json["retained_bytes"] = Value(s.retained_bytes);
  json["unconfirmed_bytes"] = Value(s.unconfirmed_bytes);
  json["safe_wal_bytes"] = Value(s.safe_wal_size);
  json["wal_bytes_per_second"] = Value(s.wal_rate);
  json["seconds_to_invalidation"] = seconds(slot.verdict.time_to_invalidation);
  json["catalog_xmin_age"] = Value(slot.catalog_xmin_age);
  json["spill_bytes"] = Value(slot.spill_bytes);
  json["stream_bytes"] = Value(slot.stream_bytes);
  json["verdict"] = NameOf(slot.verdict.severity);
  json["reason"] = TextOrNull(slot.verdict.reason);
  json["hint"] = TextOrNull(slot.verdict.hint);
  return json;
}

void PrintJson(const Json& json, std::ostream& out) {
  out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

void PrintCsv(const std::vector<Json>& objects, std::ostream& out) {
  if (objects.empty()) return;
  const auto line = [&out](const Json& object, bool header) {
    bool first = true;
    for (const auto& [key, value] : object.items()) {
      out << (first ? "" : ",") << CsvField(header ? Json(key) : value);
      first = false;
    }
    out << "\r\n";
  };
  line(objects.front(), true);
  for (const Json& object : objects) line(object, false);
}

void PrintSlots(std::string_view format, std::string_view command, const Server& server,
                const std::vector<SlotRow>& slots, std::optional<double> wal_rate,
                std::ostream& out) {
  if (format == "table") return PrintSlotTable(slots, out);
  std::vector<Json> objects;
  objects.reserve(slots.size());
  for (const SlotRow& slot : slots) objects.push_back(ToJson(slot));
  if (format == "csv") return PrintCsv(objects, out);
  if (format == "ndjson") {
    for (const Json& object : objects) PrintJson(object, out);
    return;
  }
  Json document = Document(command, server);
  document["wal_bytes_per_second"] = Value(wal_rate);
  document["slots"] = objects;
  PrintJson(document, out);
}

}  // namespace walpost::slots
