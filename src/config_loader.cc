#include "config_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/conninfo.h"
#include "base/limits.h"
#include "base/status.h"
#include "toml++/toml.h"

namespace walpost {
namespace {

// Reads one source into the settings.
class Loader {
 public:
  Loader(Settings& settings, const Environment& environment)
      : settings_(settings), environment_(environment) {}

  absl::Status LoadFile(const std::string& path);
  absl::Status LoadEnvironment();
  absl::Status LoadFlag(const Flag& flag);

 private:
  absl::Status SetSection(const std::string& name, const toml::table& table);
  absl::Status SetNode(const KeySpec& spec, const toml::node& node);
  absl::Status SetArray(const KeySpec& spec, const toml::array& array, std::string_view origin);
  absl::Status SetEntries(const KeySpec& spec, const std::string& prefix, const toml::table& table,
                          std::string_view origin);
  absl::Status SetText(std::string_view name, std::string_view value, std::string_view origin);
  absl::StatusOr<std::string> Text(std::string_view name, std::string_view text,
                                   std::string_view origin);

  bool IsSection(std::string_view name) const;
  // The table that holds the entry `name`, or null: "kafka.properties" for
  // "kafka.properties.linger.ms".
  const KeySpec* TableOf(std::string_view name) const;
  std::string OriginOf(const toml::node& node) const {
    return file_.empty() ? origin_ : absl::StrCat(file_, " line ", node.source().begin.line);
  }

  Settings& settings_;
  const Environment& environment_;
  std::string secret_;  // a key whose secret is written out in the file
  std::string file_;    // set while a file is read: its strings may hold references
  std::string origin_;  // of a value given as TOML outside of a file
};

absl::Status FileError(std::string_view path, std::string_view fault) {
  return WithExitCode(
      WithHint(Error(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("can't read ", ToAbsl(path), ": ", ToAbsl(fault))),
               "name the configuration file with --config FILE"),
      ExitCode::kConfiguration);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return FileError(path, std::strerror(errno));
  std::string content(limits::kConfigFileBytes + 1, '\0');
  stream.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (stream.bad()) return FileError(path, std::strerror(errno));
  if (stream.gcount() == 0 && !stream.eof()) return FileError(path, "not a file");
  content.resize(static_cast<std::size_t>(stream.gcount()));
  if (content.size() > limits::kConfigFileBytes) return FileError(path, "larger than 1 MiB");
  return content;
}

// toml++ throws: its exceptions end here.
absl::StatusOr<toml::table> ParseToml(std::string_view text, std::string_view path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return WithExitCode(Error(absl::StatusCode::kInvalidArgument,
                              absl::StrCat(ToAbsl(path), " line ", at.line, ", column ", at.column,
                                           ": ", ToAbsl(error.description()))),
                        ExitCode::kConfiguration);
  }
}

std::string_view NameOf(toml::node_type type) {
  switch (type) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    case toml::node_type::none:
      break;
  }
  return "nothing";
}

std::string_view FixFor(KeyType type) {
  switch (type) {
    case KeyType::kString:
      return "write a string in quotes";
    case KeyType::kStringList:
      return "write a string, or a list of strings as [\"a\", \"b\"]";
    case KeyType::kInteger:
      return "write a whole number without quotes";
    case KeyType::kBool:
      return "write true or false without quotes";
    case KeyType::kDuration:
      return "write a duration in quotes, as \"25s\"";
    case KeyType::kBytes:
      return "write a number of bytes, or a size in quotes, as \"16MiB\"";
    case KeyType::kTable:
      return "write a table, as { name = \"value\" }";
  }
  return "see the reference";
}

absl::Status WrongKind(const KeySpec& spec, const toml::node& node, std::string_view origin) {
  return SettingError(
      spec.name, origin,
      absl::StrCat("is ", ToAbsl(NameOf(node.type())), "; ", ToAbsl(FixFor(spec.type))));
}

// A scalar as text, for table entries. nullopt: not a scalar that has one obvious text.
std::optional<std::string> ScalarText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return absl::StrCat(number->get());
  if (const auto* number = node.as_floating_point()) return absl::StrCat(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

bool TakesBareScalar(KeyType key, toml::node_type node) {
  return (node == toml::node_type::integer &&
          (key == KeyType::kInteger || key == KeyType::kBytes)) ||
         (node == toml::node_type::boolean && key == KeyType::kBool);
}

bool TakesString(KeyType key) { return key != KeyType::kInteger && key != KeyType::kBool; }

bool LooksSecret(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(name));
  for (const char* part : {"password", "secret", ".pem", "jaas", "sasl.oauthbearer"}) {
    if (lower.find(part) != std::string::npos) return true;
  }
  return false;
}

absl::Status Loader::LoadFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  ASSIGN_OR_RETURN(const toml::table root, ParseToml(content, path));
  file_ = path;
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    const toml::table* table = node.as_table();
    if (table == nullptr) return settings_.UnknownKey(name, OriginOf(node));
    if (!IsSection(name)) return settings_.UnknownSection(name, OriginOf(node));
    RETURN_IF_ERROR(SetSection(name, *table));
  }
  file_.clear();
  struct stat found {};
  if (secret_.empty() || stat(path.c_str(), &found) != 0 || (found.st_mode & S_IROTH) == 0) {
    return absl::OkStatus();
  }
  return SettingError(
      secret_, path,
      absl::StrCat("is written out in a file that every user of this host may read; "
                   "run chmod o= ",
                   path, ", or keep it apart with ${file:PATH}"));
}

absl::Status Loader::SetSection(const std::string& name, const toml::table& table) {
  for (const auto& [key, node] : table) {
    const std::string full = absl::StrCat(name, ".", ToAbsl(key.str()));
    if (const KeySpec* spec = settings_.Find(full)) {
      RETURN_IF_ERROR(SetNode(*spec, node));
    } else if (const toml::table* inner = node.as_table()) {
      if (!IsSection(full)) return settings_.UnknownSection(full, OriginOf(node));
      RETURN_IF_ERROR(SetSection(full, *inner));
    } else {
      return settings_.UnknownKey(full, OriginOf(node));
    }
  }
  return absl::OkStatus();
}

absl::Status Loader::SetNode(const KeySpec& spec, const toml::node& node) {
  const std::string origin = OriginOf(node);
  if (spec.type == KeyType::kTable) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return WrongKind(spec, node, origin);
    return SetEntries(spec, "", *table, origin);
  }
  if (const toml::array* array = node.as_array()) return SetArray(spec, *array, origin);
  if (const auto* text = node.as_string()) {
    // A reference has to stand in quotes, whatever it stands for.
    const bool reference = text->get().find("${") != std::string::npos;
    if (!TakesString(spec.type) && !reference) return WrongKind(spec, node, origin);
    ASSIGN_OR_RETURN(const std::string value, Text(spec.name, text->get(), origin));
    return settings_.Set(spec.name, value, origin);
  }
  if (!TakesBareScalar(spec.type, node.type())) return WrongKind(spec, node, origin);
  return settings_.Set(spec.name, *ScalarText(node), origin);
}

absl::Status Loader::SetArray(const KeySpec& spec, const toml::array& array,
                              std::string_view origin) {
  if (spec.type != KeyType::kStringList) return WrongKind(spec, array, origin);
  std::vector<std::string> values;
  for (const toml::node& node : array) {
    const auto* text = node.as_string();
    if (text == nullptr) return WrongKind(spec, node, OriginOf(node));
    ASSIGN_OR_RETURN(std::string value, Text(spec.name, text->get(), OriginOf(node)));
    values.push_back(std::move(value));
  }
  return settings_.SetList(spec.name, std::move(values), origin);
}

// Nested tables become dotted names: [source.values.event_type] "0" = "CREATED" is the entry
// "event_type.0", and compression.type = "lz4" without quotes the entry "compression.type".
absl::Status Loader::SetEntries(const KeySpec& spec, const std::string& prefix,
                                const toml::table& table, std::string_view origin) {
  for (const auto& [key, node] : table) {
    const std::string name = absl::StrCat(prefix, ToAbsl(key.str()));
    if (const toml::table* inner = node.as_table()) {
      RETURN_IF_ERROR(SetEntries(spec, name + ".", *inner, OriginOf(node)));
      continue;
    }
    const std::optional<std::string> scalar = ScalarText(node);
    const std::string full = absl::StrCat(ToAbsl(spec.name), ".", name);
    const std::string at = file_.empty() ? std::string(origin) : OriginOf(node);
    if (!scalar) {
      return SettingError(
          full, at, absl::StrCat("is ", ToAbsl(NameOf(node.type())), "; write a string in quotes"));
    }
    ASSIGN_OR_RETURN(const std::string value, Text(full, *scalar, at));
    RETURN_IF_ERROR(settings_.SetTableEntry(spec.name, name, value, at));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Loader::Text(std::string_view name, std::string_view text,
                                         std::string_view origin) {
  if (file_.empty()) return std::string(text);
  const bool dsn = name == "source.dsn";
  absl::StatusOr<std::string> expanded =
      ExpandReferences(text, environment_, dsn ? &EscapeIntoDsn : nullptr);
  if (!expanded.ok()) return SettingError(name, origin, MessageOf(expanded.status()));
  if (dsn) {
    const Escape mark = [](std::string_view, std::string_view) {
      return std::string(1, kReferenceMark);
    };
    // A file may have changed since it was read above.
    const absl::StatusOr<std::string> marked = ExpandReferences(text, environment_, mark);
    if (marked.ok() && HasPassword(*marked)) secret_ = name;
  } else if (LooksSecret(name) && text.find("${") == std::string_view::npos) {
    secret_ = name;
  }
  return expanded;
}

absl::Status Loader::LoadEnvironment() {
  constexpr std::string_view kPrefix = "WALPOST_";
  for (const auto& [variable, value] : environment_) {
    if (variable.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    const std::string rest =
        absl::AsciiStrToLower(ToAbsl(std::string_view(variable).substr(kPrefix.size())));
    if (rest.find("__") == std::string::npos) continue;  // not meant as a setting
    RETURN_IF_ERROR(SetText(absl::StrReplaceAll(rest, {{"__", "."}}), value, variable));
  }
  return absl::OkStatus();
}

absl::Status Loader::LoadFlag(const Flag& flag) {
  const KeySpec* spec = settings_.Find(flag.key);
  const bool secret = (spec != nullptr && spec->secret) || LooksSecret(flag.key);
  if (secret && flag.origin == "--set") {
    const std::string variable = absl::StrCat(
        "WALPOST_", absl::AsciiStrToUpper(absl::StrReplaceAll(flag.key, {{".", "__"}})));
    return SettingError(
        flag.key, flag.origin,
        absl::StrCat("may hold a secret, and a command line is visible to every user "
                     "of the host; use the configuration file or ",
                     spec != nullptr ? variable : "${file:PATH} in it"));
  }
  if (!flag.list.empty()) return settings_.SetList(flag.key, flag.list, flag.origin);
  return SetText(flag.key, flag.value, flag.origin);
}

// A value as text, from a variable or flag.
absl::Status Loader::SetText(std::string_view name, std::string_view value,
                             std::string_view origin) {
  const KeySpec* spec = settings_.Find(name);
  if (spec == nullptr) {
    const KeySpec* table = TableOf(name);
    if (table == nullptr) return settings_.UnknownKey(name, origin);
    return settings_.SetTableEntry(table->name, name.substr(table->name.size() + 1), value, origin);
  }
  const bool list = spec->type == KeyType::kStringList && value.substr(0, 1) == "[";
  if (!list && spec->type != KeyType::kTable) return settings_.Set(name, value, origin);
  origin_ = origin;
  const absl::StatusOr<toml::table> parsed = ParseToml(absl::StrCat("v = ", ToAbsl(value)), origin);
  // One value, and not a second line smuggled in.
  if (!parsed.ok() || parsed->size() != 1) return SettingError(name, origin, FixFor(spec->type));
  return SetNode(*spec, parsed->begin()->second);
}

bool Loader::IsSection(std::string_view name) const {
  for (const KeySpec& spec : settings_.specs()) {
    if (spec.name.size() > name.size() && spec.name.substr(0, name.size()) == name &&
        spec.name[name.size()] == '.') {
      return true;
    }
  }
  return false;
}

const KeySpec* Loader::TableOf(std::string_view name) const {
  for (const KeySpec& spec : settings_.specs()) {
    if (spec.type == KeyType::kTable && name.size() > spec.name.size() + 1 &&
        name.substr(0, spec.name.size()) == spec.name && name[spec.name.size()] == '.') {
      return &spec;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Flag> ParseSetFlag(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  if (equals == std::string_view::npos || key.find('.') == std::string_view::npos) {
    // The text may hold a secret: it is not repeated.
    return WithExitCode(Error(absl::StatusCode::kInvalidArgument,
                              "--set takes SECTION.KEY=VALUE, as --set source.slot=orders"),
                        ExitCode::kUsage);
  }
  return Flag{std::string(key), std::string(text.substr(equals + 1)), "--set"};
}

absl::StatusOr<Settings> LoadSettings(std::vector<KeySpec> specs, const std::string& file,
                                      const Environment& environment,
                                      const std::vector<Flag>& flags) {
  Settings settings(std::move(specs));
  Loader loader(settings, environment);
  if (!file.empty()) RETURN_IF_ERROR(loader.LoadFile(file));
  RETURN_IF_ERROR(loader.LoadEnvironment());
  for (const Flag& flag : flags) RETURN_IF_ERROR(loader.LoadFlag(flag));
  return settings;
}

}  // namespace walpost
