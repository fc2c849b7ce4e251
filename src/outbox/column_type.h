// Which of Postgres's types a column has, as far as the relay tells them apart.
#pragma once

#include <cstdint>
#include <string>

#include "capture/batch.h"

namespace walpost::outbox {

enum class TypeKind : std::uint8_t {
  kText,        // text, varchar, name, citext
  kPaddedText,  // char(n): blank-padded on the wire
  kByteChar,    // "char", one byte
  kUserText,    // an enum; another type of the user's as far as it comes as text
  kUuid,
  kInt2,
  kInt4,
  kInt8,
  kOid,
  kBool,
  kJson,
  kJsonb,
  kBytea,
  kTimestamptz,
  kTimestamp,
  kDate,
  kNumeric,
  kTextArray,    // of text, varchar or char(n)
  kUnsupported,  // a built-in type that isn't read here, or a domain over one
};

// A domain counts as its base type (Column::type_schema is empty then).
TypeKind KindOf(const capture::Column& column);

// "uuid", "events.kind", or "oid 869" where the name isn't known. For messages.
std::string TypeName(const capture::Column& column);

// Text that may turn out to be JSON.
inline bool IsFreeText(TypeKind kind) {
  return kind == TypeKind::kText || kind == TypeKind::kPaddedText || kind == TypeKind::kUserText;
}

}  // namespace walpost::outbox
