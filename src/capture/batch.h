// What a source hands on: rows of one transaction, in order, in bounded batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/lsn.h"

namespace walpost::capture {

struct Column {
  std::string name;
  std::uint32_t type_oid = 0;
  std::int32_t type_modifier = -1;
  // Of types that aren't built in (OID >= 10000), else empty. For a domain: the base type's name,
  // with an empty schema; for an enum and other types its own.
  std::string type_schema;
  std::string type_name;

  bool operator==(const Column&) const = default;
};

// A table as the WAL described it at that point: immutable. A later description is a new object, so
// the address (kept alive by the shared pointer) tells whether anything changed.
struct Relation {
  RelationOid oid;
  std::string schema;
  std::string name;
  std::vector<Column> columns;

  bool operator==(const Relation&) const = default;
};

struct Value {
  // As in pgoutput's tuples. kUnchanged ('u') never occurs in an INSERT.
  enum class Kind : char { kNull = 'n', kUnchanged = 'u', kText = 't', kBinary = 'b' };
  Kind kind = Kind::kNull;
  std::string_view bytes;
};

// One inserted row: values in the order of the relation's columns, as many as those. Or a logical
// message, which has no relation: prefix and content are its values.
struct Row {
  // Why shared: a mapping made for a relation keeps it, so that its address stays its identity.
  const std::shared_ptr<const Relation>& relation;
  std::span<const Value> values;

  bool is_message() const { return relation == nullptr; }
  // Requires: is_message().
  std::string_view message_prefix() const { return values[0].bytes; }
  std::string_view message_content() const { return values[1].bytes; }
};

struct Transaction {
  Lsn commit_lsn;  // START of the commit record: identity and order, never a position to confirm
  Xid xid;
  absl::Time commit_time;

  bool operator==(const Transaction&) const = default;
};

// Who the positions and transactions belong to: an LSN means nothing outside of it.
struct Identity {
  std::uint64_t system_identifier = 0;
  std::uint32_t timeline = 0;
  std::string database;

  bool operator==(const Identity&) const = default;
};

// A piece of one transaction, or (without rows) a keepalive.
//
// Owns the memory its rows view; rows and values are valid until Clear(). Only the last batch of a
// transaction has a release: its end_lsn. A keepalive is an empty batch whose release is walEnd.
class Batch {
 public:
  Transaction transaction;
  std::uint32_t first_index = 0;    // of row(0) among the outbox events of its transaction
  std::optional<Position> release;  // what may be confirmed once all up to here is acknowledged

  // Frees one frame; called once with what was given to Adopt().
  using Free = void (*)(void*);

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  std::size_t bytes() const { return bytes_; }
  Row row(std::size_t i) const {
    const Entry& entry = rows_[i];
    return {relations_[entry.relation],
            std::span<const Value>(values_).subspan(entry.first_value, entry.value_count)};
  }

  // Takes over the memory that the next row views.
  void Adopt(char* frame, Free release_frame) { frames_.emplace_back(frame, release_frame); }
  // Appends a row (or, without a relation, a message); `values` is copied, the bytes they view must be adopted by this batch (or
  // outlive it).
  void Add(const std::shared_ptr<const Relation>& relation, std::span<const Value> values);

  // Empty again, capacity kept.
  void Clear();

 private:
  struct Entry {
    std::uint32_t relation;
    std::uint32_t first_value;
    std::uint32_t value_count;
  };
  std::vector<std::unique_ptr<char, Free>> frames_;
  std::vector<std::shared_ptr<const Relation>> relations_;
  std::vector<Value> values_;
  std::vector<Entry> rows_;
  std::size_t bytes_ = 0;
};

}  // namespace walpost::capture
