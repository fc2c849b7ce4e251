// The messages of pgoutput, protocol version 1, as plain structs. Everything views the frame.
//
//   byte  message   body
//   B     Begin     Int64 final_lsn, Int64 commit time, Int32 xid
//   C     Commit    Int8 flags, Int64 commit_lsn, Int64 end_lsn, Int64 commit time
//   O     Origin    Int64 origin commit LSN, String name
//   R     Relation  Int32 oid, String schema, String name, Int8 replica identity, Int16 n,
//                   n x (Int8 flags, String name, Int32 type OID, Int32 type modifier)
//   Y     Type      Int32 type OID, String schema, String name
//   I     Insert    Int32 relation, 'N', Tuple
//   U     Update    Int32 relation, ['K' or 'O', Tuple], 'N', Tuple
//   D     Delete    Int32 relation, 'K' or 'O', Tuple
//   T     Truncate  Int32 n, Int8 flags, n x Int32 relation
//   M     Message   Int8 flags, Int64 lsn, String prefix, Int32 n, n bytes
//   A     Abort     Int32 xid, Int32 subtransaction xid [, Int64 lsn, Int64 time]
//   Tuple           Int16 n, n x ('n' | 'u' | 't' Int32 len, bytes | 'b' Int32 len, bytes)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/lsn.h"
#include "capture/batch.h"

namespace walpost::capture::pgoutput {

struct Begin {
  Lsn final_lsn;  // equals the commit_lsn of the Commit to come
  absl::Time commit_time;
  Xid xid;
};

struct Commit {
  Lsn commit_lsn;  // start of the commit record
  Lsn end_lsn;     // first byte after it: the number to confirm
  absl::Time commit_time;
};

struct Origin {
  Lsn origin_lsn;
  std::string_view name;
};

struct RelationColumn {
  std::string_view name;
  std::uint32_t type_oid = 0;
  std::int32_t type_modifier = -1;
};

struct RelationDescription {
  RelationOid oid;
  std::string_view schema;  // empty: pg_catalog
  std::string_view name;
  std::vector<RelationColumn> columns;
};

struct Type {
  std::uint32_t oid = 0;
  std::string_view schema;  // empty: pg_catalog
  std::string_view name;    // of a domain: its base type
};

struct Insert {
  RelationOid relation;
  std::span<const Value> values;  // in the decoder's memory, until it decodes the next message
};

struct Update {
  RelationOid relation;
};
struct Delete {
  RelationOid relation;
};
struct Truncate {
  std::uint32_t relations = 0;  // how many
};

struct LogicalMessage {
  bool transactional = false;
  Lsn end_lsn;  // of the message's WAL record
  std::string_view prefix;
  std::string_view content;
};

// Only from servers of version 18, which send it for a transaction that already rolled back
// although streaming is off.
struct StreamAbort {
  Xid xid;
};

using Message = std::variant<Begin, Commit, Origin, RelationDescription, Type, Insert, Update,
                             Delete, Truncate, LogicalMessage, StreamAbort>;

}  // namespace walpost::capture::pgoutput
