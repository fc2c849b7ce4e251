// walpost config show: every key with its value and where it comes from, as TOML.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "outbox/json_scan.h"
#include "verbs.h"

namespace walpost {
namespace {

constexpr char kHidden[] = "(hidden: --reveal shows it)";

// JSON's strings are TOML's.
std::string Quoted(std::string_view text) {
  std::string out;
  outbox::AppendJsonString(text, out);
  return out;
}

std::string ListText(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) {
    absl::StrAppend(&out, out.size() > 1 ? ", " : "", Quoted(value));
  }
  return out + "]";
}

std::string TableText(const std::map<std::string, std::string>& table, bool hide) {
  std::string out = "{";
  for (const auto& [name, value] : table) {
    absl::StrAppend(&out, out.size() > 1 ? ", " : " ", Quoted(name), " = ",
                    Quoted(hide ? kHidden : value));
  }
  return out + (out.size() > 1 ? " }" : "}");
}

std::string ValueText(const Settings& settings, const KeySpec& key, bool reveal) {
  const bool hide = key.secret && !reveal && settings.IsSet(key.name);
  switch (key.type) {
    case KeyType::kString:
      return Quoted(hide ? kHidden : settings.GetString(key.name));
    case KeyType::kStringList:
      return hide ? ListText({kHidden}) : ListText(settings.GetList(key.name));
    case KeyType::kInteger:
      return absl::StrCat(settings.GetInteger(key.name));
    case KeyType::kBool:
      return settings.GetBool(key.name) ? "true" : "false";
    case KeyType::kDuration:
      return Quoted(absl::FormatDuration(settings.GetDuration(key.name)));
    case KeyType::kBytes:
      return absl::StrCat(settings.GetBytes(key.name));
    case KeyType::kTable:
      return TableText(settings.GetTable(key.name), hide);
  }
  return "";
}

void Show(const Settings& settings, const ConfigShowArgs& args) {
  std::string section;
  for (const KeySpec& key : settings.specs()) {
    if (!args.all && !settings.IsSet(key.name)) continue;
    const std::string_view name = key.name;
    const std::size_t dot = name.find('.');
    if (section != name.substr(0, dot)) {
      std::cout << (section.empty() ? "" : "\n");
      section = name.substr(0, dot);
      std::cout << "[" << section << "]\n";
    }
    std::cout << name.substr(dot + 1) << " = " << ValueText(settings, key, args.reveal) << "  # "
              << settings.OriginOf(name) << "\n";
  }
}

}  // namespace

int VerbConfigShow(const ConfigShowArgs& args) {
  const absl::StatusOr<ConfigSources> sources = SourcesOf(args.config);
  if (!sources.ok()) return Fail(sources.status());
  absl::StatusOr<Config> config = LoadConfig(*sources);
  if (!config.ok()) return Fail(config.status());
  Show(config->settings, args);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace walpost
