#include "sink/file/json_line.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/string_view.h"
#include "base/utf8.h"
#include "outbox/envelope.h"

namespace walpost::sink::file {
namespace {

enum class ValueKind { kBytes, kText, kJson, kProtobuf };

// `type` with its parameters, in any case: "Application/JSON; charset=utf-8".
ValueKind KindOf(std::string_view type) {
  std::string media(type.substr(0, type.find(';')));
  absl::StripAsciiWhitespace(&media);
  absl::AsciiStrToLower(&media);
  const std::string_view name = media;
  if (name == "application/json" || name.ends_with("+json")) return ValueKind::kJson;
  if (name == "application/protobuf" || name == "application/x-protobuf") {
    return ValueKind::kProtobuf;
  }
  return name.starts_with("text/") ? ValueKind::kText : ValueKind::kBytes;
}

ValueKind KindOf(const outbox::Message& message) {
  for (const outbox::MessageHeader& header : message.headers) {
    if (header.name == "content-type") return KindOf(header.value);
  }
  return ValueKind::kBytes;
}

void AppendBase64(std::string_view bytes, std::string& out) {
  absl::StrAppend(&out, R"({"base64":")", absl::Base64Escape(ToAbsl(bytes)), "\"}");
}

// Requires: valid UTF-8.
void AppendString(std::string_view text, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00");
      out.push_back(kDigits[c >> 4]);
      out.push_back(kDigits[c & 0xf]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void AppendText(std::string_view text, std::string& out) {
  if (IsValidUtf8(text)) {
    AppendString(text, out);
  } else {
    AppendBase64(text, out);
  }
}

// A name of a header is a key, which can't be {"base64":…}.
void AppendName(std::string_view name, std::string& out) {
  if (IsValidUtf8(name)) {
    AppendString(name, out);
  } else {
    absl::StrAppend(&out, "\"base64:", absl::Base64Escape(ToAbsl(name)), "\"");
  }
}

using Headers = std::span<const outbox::MessageHeader>;

bool HasName(Headers headers, std::string_view name) {
  for (const outbox::MessageHeader& header : headers) {
    if (header.name == name) return true;
  }
  return false;
}

void AppendHeaders(Headers headers, std::string& out) {
  out.push_back('{');
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const std::string_view name = headers[i].name;
    if (HasName(headers.first(i), name)) continue;  // is in the array of its first one
    if (i > 0) out.push_back(',');
    AppendName(name, out);
    out.push_back(':');
    const Headers later = headers.subspan(i + 1);
    const bool several = HasName(later, name);
    if (several) out.push_back('[');
    AppendText(headers[i].value, out);
    for (const outbox::MessageHeader& header : later) {
      if (header.name != name) continue;
      out.push_back(',');
      AppendText(header.value, out);
    }
    if (several) out.push_back(']');
  }
  out.push_back('}');
}

bool IsOneLine(std::string_view text) { return text.find_first_of("\r\n") == text.npos; }

bool HasIdOf(const outbox::Message& message, std::string_view envelope) {
  const std::optional<std::string> id = outbox::EnvelopeId(envelope);
  for (const outbox::MessageHeader& header : message.headers) {
    if (header.name == "id") return id == header.value;
  }
  return false;
}

void AppendValue(const outbox::Message& message, std::string& out) {
  if (!message.value) {
    out.append("null");
    return;
  }
  const std::string_view value = *message.value;
  switch (KindOf(message)) {
    case ValueKind::kJson:
      // accept() is strict about UTF-8 too.
      if (IsOneLine(value) && nlohmann::json::accept(value)) {
        out.append(value);
      } else {
        AppendText(value, out);
      }
      return;
    case ValueKind::kText:
      AppendText(value, out);
      return;
    case ValueKind::kProtobuf:
      // A payload may be protobuf too, and bytes of another message can parse by accident: ours says
      // the same id as the header.
      if (const auto json = outbox::EnvelopeJson(value);
          json.ok() && IsOneLine(*json) && HasIdOf(message, value)) {
        out.append(*json);
      } else {
        AppendBase64(value, out);
      }
      return;
    case ValueKind::kBytes:
      AppendBase64(value, out);
      return;
  }
}

}  // namespace

void AppendJsonLine(const outbox::Message& message, std::string& out) {
  out.append("{\"topic\":");
  AppendText(message.topic, out);
  out.append(",\"key\":");
  if (message.key) {
    AppendText(*message.key, out);
  } else {
    out.append("null");
  }
  absl::StrAppend(&out, ",\"timestamp\":\"",
                  absl::FormatTime(absl::RFC3339_full, message.timestamp, absl::UTCTimeZone()),
                  "\",\"headers\":");
  AppendHeaders(message.headers, out);
  out.append(",\"value\":");
  AppendValue(message, out);
  out.append("}\n");
}

}  // namespace walpost::sink::file
