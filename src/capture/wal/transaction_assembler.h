// Messages to batches: the grammar of the stream, and what of it concerns the outbox.
//
//   stream       = { transaction | keepalive | message }
//   transaction  = Begin [Origin] { Type | Relation | change | keepalive } Commit
//
// A change of the outbox is an INSERT into one of its tables, or a transactional logical message of
// one of its prefixes. Non-transactional messages are never events: they exist before a commit, and
// without one.
//
// A transaction with rows of the outbox becomes one or more batches, the last with release =
// end_lsn. One without becomes an empty batch with that release; so does a keepalive between
// transactions, with walEnd. A keepalive inside a transaction carries at most that transaction's
// commit_lsn and releases nothing that matters, so it makes no batch. Nothing is ever added to a
// position.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capture/batch.h"
#include "capture/wal/frame.h"
#include "capture/wal/pgoutput/decoder.h"
#include "capture/wal/pgoutput/relation_cache.h"

namespace walpost::capture {

struct TableName {
  std::string schema;
  std::string name;

  bool operator==(const TableName&) const = default;
};

// The memory of one frame, as libpq allocated it.
struct OwnedFrame {
  std::unique_ptr<char, Batch::Free> memory{nullptr, nullptr};
  std::size_t size = 0;

  std::string_view bytes() const { return {memory.get(), size}; }
};

// Thread: loop only. Pure: no clock, no I/O. Lives as long as one connection.
class TransactionAssembler {
 public:
  // `prefixes`: of the logical messages that are events too.
  TransactionAssembler(std::vector<TableName> tables, std::vector<std::string> prefixes)
      : tables_(std::move(tables)), prefixes_(std::move(prefixes)) {}

  // Takes in the message of one XLogData, whose payload must view `frame`. True: batch() is
  // complete and must be taken before the next call. Errors: kDataLoss (doesn't parse, breaks the
  // grammar, commits out of order).
  absl::StatusOr<bool> Add(const XLogData& data, OwnedFrame frame);

  // Likewise for a keepalive; never fails.
  bool Add(const Keepalive& keepalive);

  // The complete batch; `batch` is cleared and its memory reused.
  void Take(Batch& batch);

  bool inside_transaction() const { return open_; }
  Lsn last_end_lsn() const { return last_end_lsn_; }  // of the newest transaction received whole
  std::uint64_t transactions() const { return transactions_; }
  std::uint64_t ignored_changes() const { return ignored_changes_; }

 private:
  absl::StatusOr<bool> On(const pgoutput::Begin& begin, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Commit& commit, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Origin& origin, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::RelationDescription& relation, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Type& type, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Insert& insert, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Update& update, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Delete& deletion, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::Truncate& truncate, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::LogicalMessage& message, OwnedFrame& frame);
  absl::StatusOr<bool> On(const pgoutput::StreamAbort& abort, OwnedFrame& frame);
  absl::StatusOr<bool> Ignore(std::string_view what);
  // Adds an event that views `frame`; true if the batch is complete.
  bool AddEvent(const std::shared_ptr<const Relation>& relation, std::span<const Value> values,
                OwnedFrame& frame);
  bool IsOutbox(const std::shared_ptr<const Relation>& relation);

  const std::vector<TableName> tables_;
  const std::vector<std::string> prefixes_;
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  // The last relation asked about, and the answer: one comparison per row instead of two of
  // strings.
  std::shared_ptr<const Relation> asked_;
  bool asked_is_outbox_ = false;

  Batch batch_;
  bool open_ = false;             // between Begin and Commit
  std::uint32_t next_index_ = 0;  // of the next outbox event of the open transaction
  Lsn last_commit_lsn_;
  Lsn last_end_lsn_;
  std::uint64_t transactions_ = 0;
  std::uint64_t ignored_changes_ = 0;
};

}  // namespace walpost::capture
