#include "outbox/value.h"

#include <charconv>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/byte_reader.h"
#include "base/status.h"
#include "outbox/binary_text.h"
#include "outbox/date_time.h"

namespace walpost::outbox {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::size_t kUuidBytes = 16;
constexpr std::size_t kUuidText = 36;
constexpr std::size_t kMostLabel = 63;  // NAMEDATALEN - 1
constexpr char kJsonbVersion = 1;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendHex(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kHexDigits[byte >> 4U];
    out += kHexDigits[byte & 15U];
  }
}

bool IsUuidDash(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

bool IsUuidText(std::string_view text) {
  if (text.size() != kUuidText) return false;
  for (std::size_t i = 0; i < kUuidText; ++i) {
    if (IsUuidDash(i) ? text[i] != '-' : HexDigit(text[i]) < 0) return false;
  }
  return true;
}

void FormatUuid(std::string_view bytes, std::string& out) {
  out.resize(kUuidText);
  std::size_t at = 0;
  for (const char c : bytes) {
    if (IsUuidDash(at)) out[at++] = '-';
    const auto byte = static_cast<unsigned char>(c);
    out[at++] = kHexDigits[byte >> 4U];
    out[at++] = kHexDigits[byte & 15U];
  }
}

// An enum's binary form is its label. Other types of a user's come in forms of their own, which
// nothing on the wire tells apart; nearly all of them hold lengths or counts, and those hold zero
// bytes.
bool LooksLikeLabel(std::string_view bytes) {
  if (bytes.size() > kMostLabel) return false;
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) < 0x20) return false;
  }
  return true;
}

// As charout() of Postgres 16 and newer: a byte above ASCII as \ooo.
void FormatByteChar(char c, std::string& out) {
  const auto byte = static_cast<unsigned char>(c);
  out.clear();
  if (byte >= 0x80) {
    out = {'\\', static_cast<char>('0' + (byte >> 6U)), static_cast<char>('0' + (byte >> 3U & 7U)),
           static_cast<char>('0' + (byte & 7U))};
  } else if (byte != 0) {
    out = {c};
  }
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

bool IsNumericText(std::string_view text) {
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") return true;
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (whole.empty() || whole.find_first_not_of("0123456789") != std::string_view::npos)
    return false;
  if (point == std::string_view::npos) return true;
  const std::string_view decimals = text.substr(point + 1);
  return !decimals.empty() && decimals.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view FormatInteger(std::int64_t number, std::string& scratch) {
  char digits[20];
  scratch.assign(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
  return scratch;
}

}  // namespace

bool AppendHexBytes(std::string_view hex, std::string& out) {
  if (hex.substr(0, 2) != "\\x" || hex.size() % 2 != 0) return false;
  out.reserve(out.size() + hex.size() / 2 - 1);
  for (std::size_t i = 2; i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]);
    const int low = HexDigit(hex[i + 1]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high << 4 | low);
  }
  return true;
}

absl::Status ColumnReader::Fault(std::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("column '", column_->name, "' (", TypeName(*column_), ") ", ToAbsl(what)));
}

absl::Status ColumnReader::CheckForm(const capture::Value& value) const {
  switch (value.kind) {
    case capture::Value::Kind::kText:
    case capture::Value::Kind::kBinary:
      if (kind_ == TypeKind::kUnsupported) return Fault("is of a type that can't be read");
      return absl::OkStatus();
    case capture::Value::Kind::kNull:
      return Fault("is null");
    case capture::Value::Kind::kUnchanged:
      return Fault("came without a value");
  }
  return Fault("came in an unknown form");
}

absl::StatusOr<std::string_view> ColumnReader::CheckedUtf8(std::string_view text) const {
  if (!IsValidUtf8(text)) return Fault("isn't valid UTF-8");
  return text;
}

absl::StatusOr<std::string_view> ColumnReader::TextOfAny(const capture::Value& value,
                                                         std::string& scratch) const {
  RETURN_IF_ERROR(CheckForm(value));
  return value.kind == capture::Value::Kind::kText ? TextOfText(value.bytes, scratch)
                                                   : TextOfBinary(value.bytes, scratch);
}

absl::StatusOr<std::string_view> ColumnReader::TextOfText(std::string_view text,
                                                          std::string& scratch) const {
  bool ok = true;
  switch (kind_) {
    case TypeKind::kText:
    case TypeKind::kPaddedText:
    case TypeKind::kByteChar:
    case TypeKind::kUserText:
    case TypeKind::kJson:
    case TypeKind::kJsonb:
    case TypeKind::kTextArray:
    case TypeKind::kUnsupported:  // refused by CheckForm()
      return CheckedUtf8(text);
    case TypeKind::kUuid:
      ok = IsUuidText(text);
      break;
    case TypeKind::kInt2:
    case TypeKind::kInt4:
    case TypeKind::kInt8:
    case TypeKind::kOid:
      ok = ParseInteger(text).has_value();
      break;
    case TypeKind::kBool:
      ok = text == "t" || text == "f";
      break;
    case TypeKind::kBytea:
      scratch.clear();
      ok = AppendHexBytes(text, scratch);
      break;
    case TypeKind::kTimestamptz: {
      // Printed anew, so that another time zone of the session would make no difference.
      const auto time = ParseTimestamptz(text);
      if (!time) return Fault("isn't a timestamp in ISO style");
      scratch.clear();
      AppendTimestamptz(*time, scratch);
      return std::string_view(scratch);
    }
    case TypeKind::kTimestamp:
      ok = ParseTimestamp(text).has_value();
      break;
    case TypeKind::kDate:
      ok = ParseDate(text).has_value();
      break;
    case TypeKind::kNumeric:
      ok = IsNumericText(text);
      break;
  }
  if (!ok) return Fault("doesn't read as a value of its type");
  return text;
}

absl::StatusOr<std::string_view> ColumnReader::TextOfBinary(std::string_view bytes,
                                                            std::string& scratch) const {
  ByteReader reader(bytes);
  bool ok = false;
  switch (kind_) {
    case TypeKind::kText:
    case TypeKind::kPaddedText:
    case TypeKind::kJson:
    case TypeKind::kUnsupported:  // refused by CheckForm()
      return CheckedUtf8(bytes);
    case TypeKind::kJsonb:
      if (bytes.empty() || bytes.front() != kJsonbVersion) {
        return Fault("isn't jsonb of version 1");
      }
      return CheckedUtf8(bytes.substr(1));
    case TypeKind::kUserText:
      if (!LooksLikeLabel(bytes)) {
        return Fault("comes in a binary form that is read for enums only");
      }
      return CheckedUtf8(bytes);
    case TypeKind::kInt2:
    case TypeKind::kInt4:
    case TypeKind::kInt8:
    case TypeKind::kOid: {
      ASSIGN_OR_RETURN(const std::int64_t number, BinaryInteger(bytes));
      return FormatInteger(number, scratch);
    }
    case TypeKind::kUuid:
      ok = bytes.size() == kUuidBytes;
      if (ok) FormatUuid(bytes, scratch);
      break;
    case TypeKind::kByteChar:
      ok = bytes.size() == 1;
      if (ok) FormatByteChar(bytes.front(), scratch);
      break;
    case TypeKind::kBool:
      ok = bytes.size() == 1 && static_cast<unsigned char>(bytes.front()) <= 1;
      if (ok) scratch = bytes.front() == 1 ? "t" : "f";
      break;
    case TypeKind::kBytea:
      ok = true;
      scratch = "\\x";
      AppendHex(bytes, scratch);
      break;
    case TypeKind::kTimestamptz:
    case TypeKind::kTimestamp: {
      const auto microseconds = reader.Int64();
      ok = microseconds.has_value() && reader.empty();
      scratch.clear();
      if (ok && kind_ == TypeKind::kTimestamptz) AppendTimestamptz(*microseconds, scratch);
      if (ok && kind_ == TypeKind::kTimestamp) AppendTimestamp(*microseconds, scratch);
      break;
    }
    case TypeKind::kDate: {
      const auto days = reader.Int32();
      ok = days.has_value() && reader.empty();
      scratch.clear();
      if (ok) AppendDate(*days, scratch);
      break;
    }
    case TypeKind::kNumeric:
      scratch.clear();
      ok = AppendNumeric(bytes, scratch);
      break;
    case TypeKind::kTextArray:
      scratch.clear();
      if (AppendTextArray(bytes, scratch)) return CheckedUtf8(scratch);
      break;
  }
  if (!ok) return Fault("doesn't hold the binary form of its type");
  return std::string_view(scratch);
}

absl::StatusOr<std::string_view> ColumnReader::Payload(const capture::Value& value,
                                                       std::string& scratch) const {
  if (kind_ != TypeKind::kBytea) return Text(value, scratch);
  RETURN_IF_ERROR(CheckForm(value));
  if (value.kind == capture::Value::Kind::kBinary) return value.bytes;
  scratch.clear();
  if (!AppendHexBytes(value.bytes, scratch)) return Fault("doesn't read as a value of its type");
  return std::string_view(scratch);
}

absl::StatusOr<std::int64_t> ColumnReader::BinaryInteger(std::string_view bytes) const {
  ByteReader reader(bytes);
  std::optional<std::int64_t> number;
  if (kind_ == TypeKind::kInt2) {
    number = reader.Int16();
  } else if (kind_ == TypeKind::kInt4) {
    number = reader.Int32();
  } else if (kind_ == TypeKind::kOid) {
    number = reader.Uint32();
  } else {
    number = reader.Int64();
  }
  if (!number || !reader.empty()) return Fault("doesn't hold the binary form of its type");
  return *number;
}

absl::StatusOr<std::int64_t> ColumnReader::Integer(const capture::Value& value) const {
  RETURN_IF_ERROR(CheckForm(value));
  const bool integer = kind_ == TypeKind::kInt2 || kind_ == TypeKind::kInt4 ||
                       kind_ == TypeKind::kInt8 || kind_ == TypeKind::kOid;
  if (integer && value.kind == capture::Value::Kind::kBinary) return BinaryInteger(value.bytes);
  if (!integer && !IsFreeText(kind_) && kind_ != TypeKind::kNumeric) {
    return Fault("is of a type that isn't read as a number");
  }
  std::string scratch;
  ASSIGN_OR_RETURN(std::string_view text, Text(value, scratch));
  if (kind_ == TypeKind::kPaddedText) text = text.substr(0, text.find_last_not_of(' ') + 1);
  const auto number = ParseInteger(text);
  if (!number) return Fault("isn't a whole number of 64 bits");
  return *number;
}

absl::StatusOr<absl::Time> ColumnReader::Time(const capture::Value& value) const {
  RETURN_IF_ERROR(CheckForm(value));
  if (kind_ != TypeKind::kTimestamptz && kind_ != TypeKind::kTimestamp &&
      kind_ != TypeKind::kDate) {
    return Fault("is of a type that isn't read as a time");
  }
  const bool binary = value.kind == capture::Value::Kind::kBinary;
  ByteReader reader(value.bytes);
  if (kind_ == TypeKind::kDate) {
    const auto days = binary ? reader.Int32() : ParseDate(value.bytes);
    if (!days || (binary && !reader.empty())) return Fault("doesn't read as a date");
    return DateToTime(*days);
  }
  const auto microseconds = binary                            ? reader.Int64()
                            : kind_ == TypeKind::kTimestamptz ? ParseTimestamptz(value.bytes)
                                                              : ParseTimestamp(value.bytes);
  if (!microseconds || (binary && !reader.empty())) return Fault("doesn't read as a timestamp");
  return TimestampToTime(*microseconds);
}

}  // namespace walpost::outbox
