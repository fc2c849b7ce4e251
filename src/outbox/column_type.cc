#include "outbox/column_type.h"

#include <string_view>

namespace walpost::outbox {
namespace {

// Object ids below this are fixed by Postgres (FirstGenbkiObjectId); above, only names tell.
constexpr std::uint32_t kFirstAssignedOid = 10000;

struct BuiltInType {
  std::uint32_t oid;
  std::string_view name;
  TypeKind kind;
};

constexpr BuiltInType kBuiltInTypes[] = {
    {16, "bool", TypeKind::kBool},
    {17, "bytea", TypeKind::kBytea},
    {18, "char", TypeKind::kByteChar},
    {19, "name", TypeKind::kText},
    {20, "int8", TypeKind::kInt8},
    {21, "int2", TypeKind::kInt2},
    {23, "int4", TypeKind::kInt4},
    {25, "text", TypeKind::kText},
    {26, "oid", TypeKind::kOid},
    {114, "json", TypeKind::kJson},
    {1009, "_text", TypeKind::kTextArray},
    {1014, "_bpchar", TypeKind::kTextArray},
    {1015, "_varchar", TypeKind::kTextArray},
    {1042, "bpchar", TypeKind::kPaddedText},
    {1043, "varchar", TypeKind::kText},
    {1082, "date", TypeKind::kDate},
    {1114, "timestamp", TypeKind::kTimestamp},
    {1184, "timestamptz", TypeKind::kTimestamptz},
    {1700, "numeric", TypeKind::kNumeric},
    {2950, "uuid", TypeKind::kUuid},
    {3802, "jsonb", TypeKind::kJsonb},
};

}  // namespace

TypeKind KindOf(const capture::Column& column) {
  if (column.type_oid < kFirstAssignedOid) {
    for (const BuiltInType& type : kBuiltInTypes) {
      if (type.oid == column.type_oid) return type.kind;
    }
    return TypeKind::kUnsupported;
  }
  if (column.type_name.empty()) return TypeKind::kUserText;
  if (column.type_schema.empty() || column.type_schema == "pg_catalog") {
    for (const BuiltInType& type : kBuiltInTypes) {
      if (type.name == column.type_name) return type.kind;
    }
    return TypeKind::kUnsupported;
  }
  return column.type_name == "citext" ? TypeKind::kText : TypeKind::kUserText;
}

std::string TypeName(const capture::Column& column) {
  if (!column.type_name.empty()) {
    return column.type_schema.empty() ? column.type_name
                                      : column.type_schema + "." + column.type_name;
  }
  for (const BuiltInType& type : kBuiltInTypes) {
    if (type.oid == column.type_oid) return std::string(type.name);
  }
  return "oid " + std::to_string(column.type_oid);
}

}  // namespace walpost::outbox
