// The log: one line per event on standard error, constant text first, then key=value.
//
// ERROR wakes someone, WARNING is degraded but moving, INFO is lifecycle, DEBUG is for developers;
// there is nothing per message. Never values of a row, never secrets: ids, names, LSNs, counts and
// sizes.
//
// Format `auto` is logfmt on a terminal and JSON otherwise. Control characters, ANSI escapes and
// invalid UTF-8 in values are escaped: a row's author can't forge a line. Under systemd's journal
// (JOURNAL_STREAM names standard error) each line has its <N> priority.
//
// Thread: any (one write(2) a line).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "base/lsn.h"

namespace walpost::log {

enum class Level { kDebug, kInfo, kWarning, kError };
enum class Format { kAuto, kLogfmt, kJson };

std::optional<Level> ParseLevel(std::string_view name);    // debug | info | warning | error
std::optional<Format> ParseFormat(std::string_view name);  // auto | logfmt | json

// One key=value. Numbers stay numbers in JSON. Borrowed for the call that logs it, except text made
// from numbers and LSNs, which the field owns.
struct Field {
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, Lsn v) : key(k), value(FormatLsn(v)) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Field(std::string_view k, T v)
      : key(k), value(std::to_string(v)), number(true) {}

  std::string_view key;
  std::string value;
  bool number = false;
};

// Sets what is written from here on; before the first call: info, auto.
void Configure(Level level, Format format);

void Debug(std::string_view text, std::initializer_list<Field> fields = {});
void Info(std::string_view text, std::initializer_list<Field> fields = {});
void Warning(std::string_view text, std::initializer_list<Field> fields = {});
void Error(std::string_view text, std::initializer_list<Field> fields = {});

// `text` with err=<message> and hint=<hint>, at ERROR.
void Failure(std::string_view text, const absl::Status& status);

// One rendered line without the newline, for tests. `time` is RFC 3339 text.
std::string Render(Format format, Level level, std::string_view time, std::string_view text,
                   std::initializer_list<Field> fields);

}  // namespace walpost::log
