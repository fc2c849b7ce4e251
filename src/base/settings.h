// Configuration as checked key/value pairs.
//
// A key is declared once, as a KeySpec with its type, default and help; whoever declares keys (the
// core in config.cc, each sink in its row of sink_table.cc) reads them back through the typed
// getters. How the values came about (file, environment, flags) is config.cc's affair.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace walpost {

enum class KeyType {
  kString,
  kStringList,  // a list; one string stands for a list of one
  kInteger,
  kBool,
  kDuration,  // "25s", "100ms": text as absl::ParseDuration takes it
  kBytes,     // "16MiB", "1GB", or a plain number of bytes
  kTable,     // free keys to strings, e.g. [kafka.properties]
};

struct KeySpec {
  std::string_view name;  // with its section: "kafka.brokers"
  KeyType type = KeyType::kString;
  std::string_view default_value;  // as written in a file; "" for lists and tables: empty
  std::string_view help;           // one sentence, with the unit
  std::vector<std::string_view> choices = {};  // allowed values, if not free
  bool secret = false;                         // never shown, never on the command line
};

// "25s", "1h30m". Finite and not negative: nothing in walpost waits for ever by configuration.
std::optional<absl::Duration> ParseDuration(std::string_view text);
// "16MiB", "1GB", "4096".
std::optional<std::uint64_t> ParseBytes(std::string_view text);

// "kafka.brokers (walpost.toml line 3): " + `fault`: kInvalidArgument with the exit code of a
// configuration error. `fault` says what to write instead and never holds a secret.
absl::Status SettingError(std::string_view name, std::string_view origin, std::string_view fault);

// Thread: any, once loaded. Getters CHECK that the key is declared and of that type.
class Settings {
 public:
  explicit Settings(std::vector<KeySpec> specs);

  // Errors: kInvalidArgument names the key, the value's fault and the fix; an unknown key comes
  // with the nearest declared one. `origin` ("walpost.toml line 3", "WALPOST_KAFKA__BROKERS",
  // "--set") goes into the message. A later Set of the same key wins.
  absl::Status Set(std::string_view name, std::string_view value, std::string_view origin);
  absl::Status SetList(std::string_view name, std::vector<std::string> values,
                       std::string_view origin);
  absl::Status SetTableEntry(std::string_view table, std::string_view key, std::string_view value,
                             std::string_view origin);

  // The values of all keys that are secret, as `other` has them. The keys must be the same.
  void TakeSecrets(const Settings& other);

  // The keys that are not secret and have another value in `other`. The keys must be the same.
  std::vector<std::string_view> Differing(const Settings& other) const;

  // The declared key, or null. For loaders.
  const KeySpec* Find(std::string_view name) const;
  const std::vector<KeySpec>& specs() const { return specs_; }

  // "unknown key 'kafka.broker'" + ", did you mean 'kafka.brokers'?" where one is near.
  absl::Status UnknownKey(std::string_view name, std::string_view origin) const;
  // Likewise for [section].
  absl::Status UnknownSection(std::string_view section, std::string_view origin) const;

  bool IsSet(std::string_view name) const;            // set explicitly, not by default
  std::string OriginOf(std::string_view name) const;  // "default" if not set

  // SettingError for the value as it is set, for what a type alone can't tell.
  absl::Status Fault(std::string_view name, std::string_view fault) const;

  std::string GetString(std::string_view name) const;
  std::vector<std::string> GetList(std::string_view name) const;
  std::int64_t GetInteger(std::string_view name) const;
  bool GetBool(std::string_view name) const;
  absl::Duration GetDuration(std::string_view name) const;
  std::uint64_t GetBytes(std::string_view name) const;
  std::map<std::string, std::string> GetTable(std::string_view name) const;

 private:
  struct Entry {
    std::vector<std::string> values;
    std::map<std::string, std::string> table;
    bool explicitly = false;
    std::string origin;
  };
  const Entry& EntryOf(std::string_view name) const;
  const Entry& Checked(std::string_view name, KeyType type) const;

  std::vector<KeySpec> specs_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace walpost
