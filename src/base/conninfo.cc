#include "base/conninfo.h"

#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace walpost {
namespace {

bool IsUri(std::string_view dsn) {
  return dsn.substr(0, 11) == "postgres://" || dsn.substr(0, 13) == "postgresql://";
}

// libpq's own rule for telling a connection string from a database name.
bool IsConnectionString(std::string_view dsn) {
  return IsUri(dsn) || dsn.find('=') != std::string_view::npos;
}

std::string PercentEncode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", byte);
    }
  }
  return out;
}

std::string QuoteValue(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// In both notations a later setting of the same name wins.
void Override(std::string& dsn, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (IsUri(dsn)) {
    const char separator = dsn.find('?') == std::string::npos ? '?' : '&';
    absl::StrAppend(&dsn, std::string(1, separator), ToAbsl(name), "=", PercentEncode(value));
  } else {
    absl::StrAppend(&dsn, dsn.empty() ? "" : " ", ToAbsl(name), "=", QuoteValue(value));
  }
}

}  // namespace

bool HasPassword(std::string_view dsn) {
  if (IsUri(dsn)) {
    std::string_view authority = dsn.substr(dsn.find("//") + 2);
    authority = authority.substr(0, authority.find_first_of("/?"));
    const std::size_t at = authority.rfind('@');
    const std::size_t colon = authority.substr(0, at).find(':');
    if (at != std::string_view::npos && colon != std::string_view::npos &&
        authority[colon + 1] != kReferenceMark) {
      return true;
    }
  }
  constexpr std::string_view kPassword = "password";
  for (std::size_t at = dsn.find(kPassword); at != std::string_view::npos;
       at = dsn.find(kPassword, at + 1)) {
    const std::string_view rest = dsn.substr(at + kPassword.size());
    const std::size_t next = rest.find_first_not_of(" \t\r\n");
    if (next == std::string_view::npos || rest[next] != '=') continue;
    const std::size_t value = rest.find_first_not_of(" \t\r\n'", next + 1);
    if (value == std::string_view::npos || rest[value] != kReferenceMark) return true;
  }
  return false;
}

std::string EscapeIntoDsn(std::string_view before, std::string_view value) {
  if (IsUri(before)) {
    const std::string_view authority = before.substr(before.find("//") + 2);
    const bool host = authority.find('/') == std::string_view::npos &&
                      (authority.empty() || authority.find('@') != std::string_view::npos);
    return host ? std::string(value) : PercentEncode(value);
  }
  bool quoted = false;
  std::string_view setting;  // the last one, from its name on
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == '\\') {
      ++i;
    } else if (before[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && before[i] == '=' && setting.empty()) {
      setting = before.substr(i);
    } else if (!quoted && before[i] == ' ' && setting.size() > 1 &&
               before.substr(i).find_first_not_of(' ') != std::string_view::npos) {
      setting = {};
    }
  }
  const std::string as_value = QuoteValue(value);
  if (quoted) return as_value.substr(1, as_value.size() - 2);
  const std::size_t last = before.find_last_not_of(' ');
  const bool is_value = last != std::string_view::npos && before[last] == '=' && !setting.empty() &&
                        &before[last] == setting.data();
  return is_value ? as_value : std::string(value);
}

std::string ApplyConnectionFlags(std::string_view dsn, const ConnectionFlags& flags) {
  std::string result(dsn);
  std::string_view database;
  if (IsConnectionString(flags.dsn)) {
    result = flags.dsn;
  } else {
    database = flags.dsn;
  }
  if (!result.empty() && !IsConnectionString(result)) {
    result = absl::StrCat("dbname=", QuoteValue(result));
  }
  Override(result, "dbname", database);
  Override(result, "host", flags.host);
  Override(result, "port", flags.port);
  Override(result, "user", flags.user);
  return result;
}

absl::Status CheckConnectionFlags(const ConnectionFlags& flags) {
  if (!HasPassword(flags.dsn)) return absl::OkStatus();
  return WithExitCode(
      WithHint(
          Error(absl::StatusCode::kInvalidArgument,
                "--dsn holds a password, and a command line is visible to every user of the host"),
          "use a password file (~/.pgpass or passfile=...), or source.dsn with ${file:PATH}"),
      ExitCode::kUsage);
}

}  // namespace walpost
