// One column's values: from the text or the binary form on the wire to text, numbers, times, bytes.
//
// Both forms of a value give the same result. Whatever doesn't parse is an error that names the
// column and its type; no input crashes, and no default is ever made up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/utf8.h"
#include "capture/batch.h"
#include "outbox/column_type.h"

namespace walpost::outbox {

// Reads the values of one column.
//
// All methods return kInvalidArgument for a value that is null, malformed, of a type that can't be
// read like this, or not valid UTF-8 where it is text. Results that are views view the value's own
// bytes or `scratch`, whose content is replaced where it is needed.
//
// Thread: any. The column is borrowed and must outlive the reader.
class ColumnReader {
 public:
  // `column` must outlive it.
  explicit ColumnReader(const capture::Column& column) : column_(&column), kind_(KindOf(column)) {}
  explicit ColumnReader(capture::Column&&) = delete;

  TypeKind kind() const { return kind_; }
  const capture::Column& column() const { return *column_; }

  // What Postgres prints for it, with DateStyle ISO, TimeZone UTC and bytea_output hex. Valid
  // UTF-8.
  absl::StatusOr<std::string_view> Text(const capture::Value& value, std::string& scratch) const {
    // Most columns are text, whose bytes need no more than this.
    const bool is_text =
        value.kind == capture::Value::Kind::kText || value.kind == capture::Value::Kind::kBinary;
    if (is_text && kind_ == TypeKind::kText && IsValidUtf8(value.bytes)) return value.bytes;
    return TextOfAny(value, scratch);
  }

  // As Text(), but a bytea is its raw bytes.
  absl::StatusOr<std::string_view> Payload(const capture::Value& value, std::string& scratch) const;

  // A whole number, of an integer type or as text or numeric prints it.
  absl::StatusOr<std::int64_t> Integer(const capture::Value& value) const;

  // Of a timestamptz, a timestamp (taken as UTC) or a date (its midnight in UTC). Infinities are
  // infinite.
  absl::StatusOr<absl::Time> Time(const capture::Value& value) const;

  // kInvalidArgument "column 'x' (type) <what>".
  absl::Status Fault(std::string_view what) const;

 private:
  absl::StatusOr<std::string_view> TextOfAny(const capture::Value& value,
                                             std::string& scratch) const;
  absl::Status CheckForm(const capture::Value& value) const;
  absl::StatusOr<std::string_view> CheckedUtf8(std::string_view text) const;
  absl::StatusOr<std::string_view> TextOfText(std::string_view text, std::string& scratch) const;
  absl::StatusOr<std::string_view> TextOfBinary(std::string_view bytes, std::string& scratch) const;
  absl::StatusOr<std::int64_t> BinaryInteger(std::string_view bytes) const;

  const capture::Column* column_;
  TypeKind kind_;
};

// Appends the bytes that `hex` stands for ("\x00ff"); false if it isn't of that form.
bool AppendHexBytes(std::string_view hex, std::string& out);

}  // namespace walpost::outbox
