#include "base/settings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/edit_distance.h"
#include "base/status.h"

namespace walpost {
namespace {

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(ToAbsl(text), &value)) return std::nullopt;
  return value;
}

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// What is wrong with `value` for a key of this kind, or "".
std::string FaultOf(const KeySpec& spec, std::string_view value) {
  const std::string shown = spec.secret ? "the value" : absl::StrCat("'", ToAbsl(value), "'");
  switch (spec.type) {
    case KeyType::kInteger:
      if (ParseInteger(value)) return "";
      return absl::StrCat(shown, " is not a whole number");
    case KeyType::kBool:
      if (ParseBool(value)) return "";
      return absl::StrCat(shown, " is neither true nor false");
    case KeyType::kDuration:
      if (ParseDuration(value)) return "";
      return absl::StrCat(
          shown, " is not a duration; write a number with a unit, as \"250ms\", \"25s\" or \"1m\"");
    case KeyType::kBytes:
      if (ParseBytes(value)) return "";
      return absl::StrCat(
          shown, " is not a size; write bytes or a number with a unit, as \"64KiB\" or \"16MB\"");
    case KeyType::kTable:
      return absl::StrCat("is a table; set ", ToAbsl(spec.name), ".<name> instead");
    case KeyType::kString:
    case KeyType::kStringList:
      if (spec.choices.empty()) return "";
      if (std::find(spec.choices.begin(), spec.choices.end(), value) != spec.choices.end())
        return "";
      return absl::StrCat(
          shown, " is none of ",
          absl::StrJoin(spec.choices, ", ", [](std::string* out, std::string_view choice) {
            absl::StrAppend(out, "\"", ToAbsl(choice), "\"");
          }));
  }
  return "has an unknown type";
}

}  // namespace

std::optional<absl::Duration> ParseDuration(std::string_view text) {
  absl::Duration value;
  if (!absl::ParseDuration(ToAbsl(text), &value) || value < absl::ZeroDuration() ||
      value == absl::InfiniteDuration()) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  constexpr std::uint64_t kKibi = 1024;
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  static constexpr Unit kUnits[] = {
      {"", 1},
      {"B", 1},
      {"kB", 1000},
      {"KB", 1000},
      {"MB", 1000'000},
      {"GB", 1000'000'000},
      {"KiB", kKibi},
      {"MiB", kKibi * kKibi},
      {"GiB", kKibi * kKibi * kKibi},
  };
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint64_t count = 0;
  if (!absl::SimpleAtoi(ToAbsl(text.substr(0, digits)), &count)) return std::nullopt;
  const absl::string_view name = absl::StripLeadingAsciiWhitespace(ToAbsl(text.substr(digits)));
  for (const Unit& unit : kUnits) {
    if (ToStd(name) != unit.name) continue;
    if (count > std::numeric_limits<std::uint64_t>::max() / unit.bytes) return std::nullopt;
    return count * unit.bytes;
  }
  return std::nullopt;
}

absl::Status SettingError(std::string_view name, std::string_view origin, std::string_view fault) {
  return WithExitCode(Error(absl::StatusCode::kInvalidArgument,
                            absl::StrCat(ToAbsl(name), " (", ToAbsl(origin), "): ", ToAbsl(fault))),
                      ExitCode::kConfiguration);
}

Settings::Settings(std::vector<KeySpec> specs) : specs_(std::move(specs)) {
  for (const KeySpec& spec : specs_) {
    Entry entry;
    entry.origin = "default";
    const bool collection = spec.type == KeyType::kStringList || spec.type == KeyType::kTable;
    if (!collection || !spec.default_value.empty()) {
      WALPOST_CHECK(spec.type == KeyType::kString || spec.default_value.empty() ||
                    FaultOf(spec, spec.default_value).empty());
      entry.values.emplace_back(spec.default_value);
    }
    const bool declared_once = entries_.emplace(spec.name, std::move(entry)).second;
    WALPOST_CHECK(declared_once);
  }
}

absl::Status Settings::Set(std::string_view name, std::string_view value, std::string_view origin) {
  return SetList(name, {std::string(value)}, origin);
}

absl::Status Settings::SetList(std::string_view name, std::vector<std::string> values,
                               std::string_view origin) {
  const KeySpec* spec = Find(name);
  if (spec == nullptr) return UnknownKey(name, origin);
  if (spec->type != KeyType::kStringList && values.size() != 1) {
    return SettingError(name, origin, "takes one value, not a list");
  }
  for (const std::string& value : values) {
    const std::string fault = FaultOf(*spec, value);
    if (!fault.empty()) return SettingError(name, origin, fault);
  }
  Entry& entry = entries_.find(name)->second;
  entry.values = std::move(values);
  entry.explicitly = true;
  entry.origin = origin;
  return absl::OkStatus();
}

absl::Status Settings::SetTableEntry(std::string_view table, std::string_view key,
                                     std::string_view value, std::string_view origin) {
  const KeySpec* spec = Find(table);
  if (spec == nullptr || spec->type != KeyType::kTable) return UnknownKey(table, origin);
  if (key.empty()) return SettingError(table, origin, "an entry without a name");
  Entry& entry = entries_.find(table)->second;
  entry.table.insert_or_assign(std::string(key), std::string(value));
  entry.explicitly = true;
  entry.origin = origin;
  return absl::OkStatus();
}

const KeySpec* Settings::Find(std::string_view name) const {
  for (const KeySpec& spec : specs_) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

absl::Status Settings::UnknownKey(std::string_view name, std::string_view origin) const {
  // A key in the wrong section, or without one, counts as one slip.
  std::string_view nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const KeySpec& spec : specs_) {
    const std::size_t distance = std::min(EditDistance(name, spec.name),
                                          EditDistance(LastPart(name), LastPart(spec.name)) + 1);
    if (distance < least) {
      least = distance;
      nearest = spec.name;
    }
  }
  std::string message = absl::StrCat("unknown key '", ToAbsl(name), "' (", ToAbsl(origin), ")");
  if (IsNear(least, LastPart(name))) {
    absl::StrAppend(&message, ", did you mean '", ToAbsl(nearest), "'?");
  }
  return WithExitCode(Error(absl::StatusCode::kInvalidArgument, message), ExitCode::kConfiguration);
}

absl::Status Settings::UnknownSection(std::string_view section, std::string_view origin) const {
  std::string_view nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const KeySpec& spec : specs_) {
    const std::string_view known =
        spec.type == KeyType::kTable ? spec.name : spec.name.substr(0, spec.name.rfind('.'));
    const std::size_t distance = EditDistance(section, known);
    if (distance < least) {
      least = distance;
      nearest = known;
    }
  }
  std::string message =
      absl::StrCat("unknown section [", ToAbsl(section), "] (", ToAbsl(origin), ")");
  if (IsNear(least, section)) {
    absl::StrAppend(&message, ", did you mean [", ToAbsl(nearest), "]?");
  }
  return WithExitCode(Error(absl::StatusCode::kInvalidArgument, message), ExitCode::kConfiguration);
}

const Settings::Entry& Settings::EntryOf(std::string_view name) const {
  const auto found = entries_.find(name);
  WALPOST_CHECK(found != entries_.end());
  return found->second;
}

const Settings::Entry& Settings::Checked(std::string_view name, KeyType type) const {
  const KeySpec* spec = Find(name);
  WALPOST_CHECK(spec != nullptr && spec->type == type);
  return entries_.find(name)->second;
}

bool Settings::IsSet(std::string_view name) const { return EntryOf(name).explicitly; }

std::string Settings::OriginOf(std::string_view name) const { return EntryOf(name).origin; }

absl::Status Settings::Fault(std::string_view name, std::string_view fault) const {
  return SettingError(name, OriginOf(name), fault);
}

std::string Settings::GetString(std::string_view name) const {
  return Checked(name, KeyType::kString).values.front();
}

std::vector<std::string> Settings::GetList(std::string_view name) const {
  return Checked(name, KeyType::kStringList).values;
}

std::int64_t Settings::GetInteger(std::string_view name) const {
  const auto value = ParseInteger(Checked(name, KeyType::kInteger).values.front());
  WALPOST_CHECK(value.has_value());  // else: declared without a default and not set
  return *value;
}

bool Settings::GetBool(std::string_view name) const {
  const auto value = ParseBool(Checked(name, KeyType::kBool).values.front());
  WALPOST_CHECK(value.has_value());
  return *value;
}

absl::Duration Settings::GetDuration(std::string_view name) const {
  const auto value = ParseDuration(Checked(name, KeyType::kDuration).values.front());
  WALPOST_CHECK(value.has_value());
  return *value;
}

std::uint64_t Settings::GetBytes(std::string_view name) const {
  const auto value = ParseBytes(Checked(name, KeyType::kBytes).values.front());
  WALPOST_CHECK(value.has_value());
  return *value;
}

std::map<std::string, std::string> Settings::GetTable(std::string_view name) const {
  return Checked(name, KeyType::kTable).table;
}

void Settings::TakeSecrets(const Settings& other) {
  for (const KeySpec& spec : specs_) {
    if (spec.secret) entries_.find(spec.name)->second = other.EntryOf(spec.name);
  }
}

std::vector<std::string_view> Settings::Differing(const Settings& other) const {
  std::vector<std::string_view> names;
  for (const KeySpec& spec : specs_) {
    if (spec.secret) continue;
    const Entry& ours = EntryOf(spec.name);
    const Entry& theirs = other.EntryOf(spec.name);
    if (ours.values != theirs.values || ours.table != theirs.table) names.push_back(spec.name);
  }
  return names;
}

}  // namespace walpost
