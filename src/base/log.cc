#include "base/log.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/limits.h"
#include "base/status.h"
#include "base/utf8.h"

namespace walpost::log {
namespace {

struct LevelNames {
  Level level;
  std::string_view name;
  std::string_view priority;  // syslog's, as the journal reads it
};
constexpr LevelNames kLevels[] = {
    {Level::kDebug, "debug", "<7>"},
    {Level::kInfo, "info", "<6>"},
    {Level::kWarning, "warning", "<4>"},
    {Level::kError, "error", "<3>"},
};

std::atomic<Level> configured_level{Level::kInfo};
std::atomic<Format> configured_format{Format::kAuto};

const LevelNames& NamesOf(Level level) { return kLevels[static_cast<std::size_t>(level)]; }

// The journal says in JOURNAL_STREAM which device and inode it reads; a child whose standard error
// was redirected inherits the variable and not the stream.
bool StandardErrorIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (stream == nullptr || fstat(STDERR_FILENO, &found) != 0) return false;
  return stream == absl::StrCat(found.st_dev, ":", found.st_ino);
}

Format Resolve(Format format) {
  if (format != Format::kAuto) return format;
  static const Format automatic = isatty(STDERR_FILENO) == 1 ? Format::kLogfmt : Format::kJson;
  return automatic;
}

// Bytes of the well-formed sequence at the start of `text` and its code point, or {1, -1}.
struct Character {
  std::size_t length;
  std::int64_t code_point;
};
Character FirstCharacter(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length > text.size() || !IsValidUtf8(text.substr(0, length))) return {1, -1};
  std::int64_t code_point = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code_point = (code_point << 6) | (byte(i) & 0x3F);
  return {length, code_point};
}

// What could end a line, move a cursor or reorder what a reader sees: C0 and C1 controls, the line
// and paragraph separators, the bidirectional overrides and isolates.
bool IsHarmful(std::int64_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F) ||
         (code_point >= 0x2028 && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

// Inside double quotes. Both formats share the escapes of JSON; a byte that is no UTF-8 shows as
// \xNN (in JSON with its backslash doubled, so that the line stays JSON).
void AppendEscaped(std::string& out, std::string_view text, Format format) {
  while (!text.empty()) {
    const Character c = FirstCharacter(text);
    if (c.code_point < 0) {
      absl::StrAppendFormat(&out, "%sx%02X", format == Format::kJson ? "\\\\" : "\\",
                            static_cast<unsigned char>(text[0]));
    } else if (c.code_point == '"' || c.code_point == '\\') {
      out += '\\';
      out += text[0];
    } else if (c.code_point == '\n') {
      out += "\\n";
    } else if (c.code_point == '\r') {
      out += "\\r";
    } else if (c.code_point == '\t') {
      out += "\\t";
    } else if (IsHarmful(c.code_point)) {
      absl::StrAppendFormat(&out, "\\u%04x", c.code_point);
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
}

void AppendQuoted(std::string& out, std::string_view text, Format format) {
  out += '"';
  AppendEscaped(out, text.substr(0, limits::kLogValueBytes), format);
  if (text.size() > limits::kLogValueBytes) absl::StrAppend(&out, "... ", text.size(), " bytes");
  out += '"';
}

// Plain enough to stand in logfmt without quotes.
bool IsBare(std::string_view text) {
  return !text.empty() && text.size() <= limits::kLogValueBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
         });
}

// "nan" and "inf" are no JSON numbers.
bool IsJsonNumber(const Field& field) {
  return field.number && field.value.find_first_not_of("0123456789.-") == std::string::npos;
}

void AppendField(std::string& out, const Field& field, Format format) {
  if (format == Format::kJson) {
    out += ',';
    AppendQuoted(out, field.key, format);
    out += ':';
    if (IsJsonNumber(field)) {
      out += field.value;
    } else {
      AppendQuoted(out, field.value, format);
    }
    return;
  }
  absl::StrAppend(&out, " ", ToAbsl(field.key), "=");
  if (IsBare(field.value)) {
    out += field.value;
  } else {
    AppendQuoted(out, field.value, format);
  }
}

void Write(Level level, std::string_view text, std::initializer_list<Field> fields) {
  if (level < configured_level.load(std::memory_order_relaxed)) return;
  static const bool journal = StandardErrorIsJournal();
  const std::string time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone());
  std::string line;
  if (journal) line += NamesOf(level).priority;
  line += Render(configured_format.load(std::memory_order_relaxed), level, time, text, fields);
  line += '\n';
  std::string_view rest = line;
  // A closed, full or stopped standard error must neither stop nor delay the relay: the line is lost.
  // A pipe that polls writable takes PIPE_BUF bytes without blocking.
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  while (!rest.empty() && poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
    const ssize_t written =
        write(STDERR_FILENO, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::optional<Level> ParseLevel(std::string_view name) {
  for (const LevelNames& names : kLevels) {
    if (names.name == name) return names.level;
  }
  return std::nullopt;
}

std::optional<Format> ParseFormat(std::string_view name) {
  if (name == "auto") return Format::kAuto;
  if (name == "logfmt") return Format::kLogfmt;
  if (name == "json") return Format::kJson;
  return std::nullopt;
}

void Configure(Level level, Format format) {
  configured_level.store(level, std::memory_order_relaxed);
  configured_format.store(format, std::memory_order_relaxed);
}

void Debug(std::string_view text, std::initializer_list<Field> fields) {
  Write(Level::kDebug, text, fields);
}
void Info(std::string_view text, std::initializer_list<Field> fields) {
  Write(Level::kInfo, text, fields);
}
void Warning(std::string_view text, std::initializer_list<Field> fields) {
  Write(Level::kWarning, text, fields);
}
void Error(std::string_view text, std::initializer_list<Field> fields) {
  Write(Level::kError, text, fields);
}

void Failure(std::string_view text, const absl::Status& status) {
  const std::string hint = HintOf(status);
  if (hint.empty()) {
    Error(text, {{"err", MessageOf(status)}});
  } else {
    Error(text, {{"err", MessageOf(status)}, {"hint", hint}});
  }
}

std::string Render(Format format, Level level, std::string_view time, std::string_view text,
                   std::initializer_list<Field> fields) {
  format = Resolve(format);
  const std::string_view name = NamesOf(level).name;
  std::string line;
  if (format == Format::kJson) {
    absl::StrAppend(&line, "{\"ts\":\"", ToAbsl(time), "\",\"level\":\"", ToAbsl(name),
                    "\",\"msg\":");
  } else {
    absl::StrAppend(&line, "ts=", ToAbsl(time), " level=", ToAbsl(name), " msg=");
  }
  AppendQuoted(line, text, format);
  for (const Field& field : fields) AppendField(line, field, format);
  if (format == Format::kJson) line += '}';
  return line;
}

}  // namespace walpost::log
