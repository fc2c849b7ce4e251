// Vocabulary of the outbox tests: tables and rows as the WAL describes them, and status matchers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "capture/batch.h"
#include "support/status_is.h"

namespace walpost::outbox {

using walpost::testing::IsOk;
using walpost::testing::StatusIs;

inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

enum TypeOid : std::uint32_t {
  kBoolOid = 16,
  kByteaOid = 17,
  kByteCharOid = 18,
  kNameOid = 19,
  kInt8Oid = 20,
  kInt2Oid = 21,
  kInt4Oid = 23,
  kTextOid = 25,
  kOidOid = 26,
  kJsonOid = 114,
  kPointOid = 600,
  kTextArrayOid = 1009,
  kBpcharOid = 1042,
  kVarcharOid = 1043,
  kDateOid = 1082,
  kTimestampOid = 1114,
  kTimestamptzOid = 1184,
  kNumericOid = 1700,
  kUuidOid = 2950,
  kJsonbOid = 3802,
  kEnumOid = 16500,
};

inline capture::Column ColumnOf(std::string name, std::uint32_t oid, std::string schema = "",
                                std::string type = "") {
  capture::Column column;
  column.name = std::move(name);
  column.type_oid = oid;
  column.type_schema = std::move(schema);
  column.type_name = std::move(type);
  return column;
}

inline std::string FromHex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  }
  return bytes;
}

inline std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4U];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15U];
  }
  return hex;
}

inline capture::Value TextValue(std::string_view text) {
  return {capture::Value::Kind::kText, text};
}
inline capture::Value BinaryValue(std::string_view bytes) {
  return {capture::Value::Kind::kBinary, bytes};
}

// A table with one row, built column by column: `TestRow("public", "outbox").Text("id", kTextOid,
// "e-1")`.
class TestRow {
 public:
  TestRow(std::string schema, std::string table) {
    description_.oid = RelationOid(16384);
    description_.schema = std::move(schema);
    description_.name = std::move(table);
  }

  TestRow& Text(capture::Column column, std::string text) {
    return Add(std::move(column), capture::Value::Kind::kText, std::move(text));
  }
  TestRow& Text(std::string name, std::uint32_t oid, std::string text) {
    return Text(ColumnOf(std::move(name), oid), std::move(text));
  }
  TestRow& Binary(capture::Column column, std::string bytes) {
    return Add(std::move(column), capture::Value::Kind::kBinary, std::move(bytes));
  }
  TestRow& Null(capture::Column column) {
    return Add(std::move(column), capture::Value::Kind::kNull, "");
  }
  TestRow& Null(std::string name, std::uint32_t oid) {
    return Null(ColumnOf(std::move(name), oid));
  }

  // The columns that every outbox has, as text.
  TestRow& Essentials() {
    return Text("id", kTextOid, "e-1")
        .Text("event_type", kTextOid, "OrderPlaced")
        .Text("aggregate_type", kTextOid, "order")
        .Text("aggregate_id", kTextOid, "o-1")
        .Text("payload", kTextOid, "hello");
  }

  TestRow& Without(std::string_view name) {
    for (std::size_t i = 0; i < description_.columns.size(); ++i) {
      if (description_.columns[i].name != name) continue;
      description_.columns.erase(description_.columns.begin() + static_cast<std::ptrdiff_t>(i));
      values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    return *this;
  }

  const std::shared_ptr<const capture::Relation>& relation() {
    if (!relation_) relation_ = std::make_shared<const capture::Relation>(description_);
    return relation_;
  }
  capture::Row row() { return {relation(), values_}; }

 private:
  TestRow& Add(capture::Column column, capture::Value::Kind kind, std::string bytes) {
    description_.columns.push_back(std::move(column));
    bytes_.push_back(std::move(bytes));
    values_.push_back({kind, bytes_.back()});
    relation_.reset();
    return *this;
  }

  capture::Relation description_;
  std::shared_ptr<const capture::Relation> relation_;
  std::deque<std::string> bytes_;
  std::vector<capture::Value> values_;
};

}  // namespace walpost::outbox
