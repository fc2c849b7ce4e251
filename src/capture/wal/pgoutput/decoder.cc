#include "capture/wal/pgoutput/decoder.h"

#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/byte_reader.h"
#include "base/status.h"
#include "capture/wal/frame.h"

namespace walpost::capture::pgoutput {
namespace {

// Each Read… gives nullopt where the bytes don't fit the table in messages.h.

// 'K' announces a key, 'O' a whole old row.
bool IsOldTupleMarker(std::uint8_t marker) { return marker == 'K' || marker == 'O'; }

bool ReadTuple(ByteReader& reader, std::vector<Value>& values) {
  const auto count = reader.Int16();
  if (!count || *count < 0) return false;
  for (int i = 0; i < *count; ++i) {
    const auto kind = reader.Uint8();
    if (!kind) return false;
    switch (*kind) {
      case 'n':
        values.push_back({Value::Kind::kNull, {}});
        break;
      case 'u':
        values.push_back({Value::Kind::kUnchanged, {}});
        break;
      case 't':
      case 'b': {
        const auto length = reader.Int32();
        if (!length || *length < 0) return false;
        const auto bytes = reader.Bytes(static_cast<std::size_t>(*length));
        if (!bytes) return false;
        values.push_back({*kind == 't' ? Value::Kind::kText : Value::Kind::kBinary, *bytes});
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

std::optional<Message> ReadBegin(ByteReader& reader) {
  const auto final_lsn = reader.Uint64();
  const auto time = reader.Int64();
  const auto xid = reader.Uint32();
  if (!final_lsn || !time || !xid) return std::nullopt;
  return Begin{Lsn(*final_lsn), FromPostgresMicros(*time), Xid(*xid)};
}

std::optional<Message> ReadCommit(ByteReader& reader) {
  const auto flags = reader.Uint8();
  const auto commit_lsn = reader.Uint64();
  const auto end_lsn = reader.Uint64();
  const auto time = reader.Int64();
  if (!flags || !commit_lsn || !end_lsn || !time || *flags != 0) return std::nullopt;
  return Commit{Lsn(*commit_lsn), Lsn(*end_lsn), FromPostgresMicros(*time)};
}

std::optional<Message> ReadOrigin(ByteReader& reader) {
  const auto lsn = reader.Uint64();
  const auto name = reader.CString();
  if (!lsn || !name) return std::nullopt;
  return Origin{Lsn(*lsn), *name};
}

std::optional<Message> ReadRelation(ByteReader& reader) {
  const auto oid = reader.Uint32();
  const auto schema = reader.CString();
  const auto name = reader.CString();
  const auto replica_identity = reader.Uint8();
  const auto count = reader.Int16();
  if (!oid || !schema || !name || !replica_identity || !count || *count < 0) return std::nullopt;
  RelationDescription relation{RelationOid(*oid), *schema, *name, {}};
  for (int i = 0; i < *count; ++i) {
    const auto flags = reader.Uint8();
    const auto column = reader.CString();
    const auto type = reader.Uint32();
    const auto modifier = reader.Int32();
    if (!flags || !column || !type || !modifier) return std::nullopt;
    relation.columns.push_back({*column, *type, *modifier});
  }
  return relation;
}

std::optional<Message> ReadType(ByteReader& reader) {
  const auto oid = reader.Uint32();
  const auto schema = reader.CString();
  const auto name = reader.CString();
  if (!oid || !schema || !name) return std::nullopt;
  return Type{*oid, *schema, *name};
}

std::optional<Message> ReadInsert(ByteReader& reader, std::vector<Value>& values) {
  const auto relation = reader.Uint32();
  const auto marker = reader.Uint8();
  if (!relation || marker != 'N' || !ReadTuple(reader, values)) return std::nullopt;
  return Insert{RelationOid(*relation), values};
}

std::optional<Message> ReadUpdate(ByteReader& reader, std::vector<Value>& values) {
  const auto relation = reader.Uint32();
  auto marker = reader.Uint8();
  if (!relation || !marker) return std::nullopt;
  if (IsOldTupleMarker(*marker)) {
    if (!ReadTuple(reader, values)) return std::nullopt;
    marker = reader.Uint8();
  }
  if (marker != 'N' || !ReadTuple(reader, values)) return std::nullopt;
  return Update{RelationOid(*relation)};
}

std::optional<Message> ReadDelete(ByteReader& reader, std::vector<Value>& values) {
  const auto relation = reader.Uint32();
  const auto marker = reader.Uint8();
  if (!relation || !marker || !IsOldTupleMarker(*marker) || !ReadTuple(reader, values)) {
    return std::nullopt;
  }
  return Delete{RelationOid(*relation)};
}

std::optional<Message> ReadTruncate(ByteReader& reader) {
  const auto count = reader.Uint32();
  const auto flags = reader.Uint8();
  if (!count || !flags) return std::nullopt;
  for (std::uint32_t i = 0; i < *count; ++i) {
    if (!reader.Uint32()) return std::nullopt;
  }
  return Truncate{*count};
}

std::optional<Message> ReadLogicalMessage(ByteReader& reader) {
  const auto flags = reader.Uint8();
  const auto lsn = reader.Uint64();
  const auto prefix = reader.CString();
  const auto length = reader.Int32();
  if (!flags || *flags > 1 || !lsn || !prefix || !length || *length < 0) return std::nullopt;
  const auto content = reader.Bytes(static_cast<std::size_t>(*length));
  if (!content) return std::nullopt;
  return LogicalMessage{*flags == 1, Lsn(*lsn), *prefix, *content};
}

std::optional<Message> ReadStreamAbort(ByteReader& reader) {
  const auto xid = reader.Uint32();
  const auto subtransaction = reader.Uint32();
  if (!xid || !subtransaction) return std::nullopt;
  if (!reader.empty() && (!reader.Uint64() || !reader.Uint64())) return std::nullopt;
  return StreamAbort{Xid(*xid)};
}

absl::Status DataLoss(std::string_view text) { return Error(absl::StatusCode::kDataLoss, text); }

}  // namespace

absl::StatusOr<Message> Decoder::Decode(std::string_view bytes) {
  values_.clear();
  ByteReader reader(bytes);
  const auto kind = reader.Uint8();
  if (!kind) return DataLoss("an empty pgoutput message");
  std::optional<Message> message;
  switch (*kind) {
    // clang-format off
    case 'B': message = ReadBegin(reader); break;
    case 'C': message = ReadCommit(reader); break;
    case 'O': message = ReadOrigin(reader); break;
    case 'R': message = ReadRelation(reader); break;
    case 'Y': message = ReadType(reader); break;
    case 'I': message = ReadInsert(reader, values_); break;
    case 'U': message = ReadUpdate(reader, values_); break;
    case 'D': message = ReadDelete(reader, values_); break;
    case 'T': message = ReadTruncate(reader); break;
    case 'M': message = ReadLogicalMessage(reader); break;
    case 'A': message = ReadStreamAbort(reader); break;
    // clang-format on
    case 'S':
    case 'E':
    case 'c':
      return DataLoss("a streamed transaction, which was not asked for");
    case 'b':
    case 'P':
    case 'K':
    case 'r':
    case 'p':
      return DataLoss("a two-phase message, which was not asked for");
    default:
      return DataLoss(absl::StrCat("unknown pgoutput message type ", static_cast<int>(*kind)));
  }
  if (!message || !reader.empty()) {
    return DataLoss(absl::StrCat("a pgoutput message of type '",
                                 std::string(1, static_cast<char>(*kind)), "' and ", bytes.size(),
                                 " bytes doesn't parse"));
  }
  return *std::move(message);
}

}  // namespace walpost::capture::pgoutput
