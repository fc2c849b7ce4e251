#include "capture/wal/transaction_assembler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

absl::Status DataLoss(std::string_view text) { return Error(absl::StatusCode::kDataLoss, text); }

}  // namespace

absl::StatusOr<bool> TransactionAssembler::Add(const XLogData& data, OwnedFrame frame) {
  ASSIGN_OR_RETURN(const pgoutput::Message message, decoder_.Decode(data.payload));
  return std::visit([this, &frame](const auto& m) { return On(m, frame); }, message);
}

bool TransactionAssembler::Add(const Keepalive& keepalive) {
  if (open_) return false;
  batch_.release = Position(keepalive.wal_end.value);
  return true;
}

void TransactionAssembler::Take(Batch& batch) {
  batch.Clear();
  std::swap(batch, batch_);
  if (!open_) return;
  batch_.transaction = batch.transaction;
  batch_.first_index = next_index_;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Begin& begin, OwnedFrame&) {
  if (open_) return DataLoss("a transaction begins inside another");
  if (begin.final_lsn <= last_commit_lsn_) {
    return DataLoss(absl::StrCat("a transaction committed at ", FormatLsn(begin.final_lsn),
                                 " follows one committed at ", FormatLsn(last_commit_lsn_)));
  }
  open_ = true;
  next_index_ = 0;
  ++transactions_;
  batch_.transaction = {begin.final_lsn, begin.xid, begin.commit_time};
  batch_.first_index = 0;
  return false;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Commit& commit, OwnedFrame&) {
  if (!open_) return DataLoss("a commit outside of a transaction");
  if (commit.commit_lsn != batch_.transaction.commit_lsn || commit.end_lsn <= commit.commit_lsn) {
    return DataLoss(absl::StrCat(
        "a transaction that began for ", FormatLsn(batch_.transaction.commit_lsn), " commits at ",
        FormatLsn(commit.commit_lsn), ", ending at ", FormatLsn(commit.end_lsn)));
  }
  open_ = false;
  last_commit_lsn_ = commit.commit_lsn;
  last_end_lsn_ = commit.end_lsn;
  batch_.release = Position(commit.end_lsn.value);
  return true;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Origin&, OwnedFrame&) {
  if (!open_) return DataLoss("an origin outside of a transaction");
  return false;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::RelationDescription& relation,
                                              OwnedFrame&) {
  relations_.Learn(relation);
  asked_.reset();
  return false;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Type& type, OwnedFrame&) {
  relations_.Learn(type);
  return false;
}

bool TransactionAssembler::IsOutbox(const std::shared_ptr<const Relation>& relation) {
  if (asked_ != relation) {
    asked_ = relation;
    asked_is_outbox_ = std::find(tables_.begin(), tables_.end(),
                                 TableName{relation->schema, relation->name}) != tables_.end();
  }
  return asked_is_outbox_;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Insert& insert, OwnedFrame& frame) {
  if (!open_) return DataLoss("an insert outside of a transaction");
  const std::shared_ptr<const Relation>* relation = relations_.Find(insert.relation);
  if (relation == nullptr) {
    return DataLoss(absl::StrCat("an insert into relation ", insert.relation.value,
                                 ", which the server has not described"));
  }
  if (insert.values.size() != (*relation)->columns.size()) {
    return DataLoss(absl::StrCat("a row of ", insert.values.size(), " values for ",
                                 (*relation)->schema, ".", (*relation)->name, " of ",
                                 (*relation)->columns.size(), " columns"));
  }
  if (!IsOutbox(*relation)) return Ignore("an insert");
  return AddEvent(*relation, insert.values, frame);
}

bool TransactionAssembler::AddEvent(const std::shared_ptr<const Relation>& relation,
                                    std::span<const Value> values, OwnedFrame& frame) {
  batch_.Adopt(frame.memory.release(), frame.memory.get_deleter());
  batch_.Add(relation, values);
  ++next_index_;
  return batch_.size() >= limits::kBatchRows || batch_.bytes() >= limits::kBatchBytes;
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Update&, OwnedFrame&) {
  return Ignore("an update");
}
absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Delete&, OwnedFrame&) {
  return Ignore("a delete");
}
absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::Truncate&, OwnedFrame&) {
  return Ignore("a truncate");
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::LogicalMessage& message,
                                              OwnedFrame& frame) {
  if (!message.transactional) {
    ++ignored_changes_;  // they come at any time
    return false;
  }
  if (std::find(prefixes_.begin(), prefixes_.end(), message.prefix) == prefixes_.end()) {
    return Ignore("a transactional message");
  }
  if (!open_) return DataLoss("a transactional message outside of a transaction");
  const Value values[] = {{Value::Kind::kText, message.prefix},
                          {Value::Kind::kBinary, message.content}};
  return AddEvent(nullptr, values, frame);
}

absl::StatusOr<bool> TransactionAssembler::On(const pgoutput::StreamAbort&, OwnedFrame&) {
  return false;
}

absl::StatusOr<bool> TransactionAssembler::Ignore(std::string_view what) {
  if (!open_) return DataLoss(absl::StrCat(ToAbsl(what), " outside of a transaction"));
  ++ignored_changes_;
  return false;
}

}  // namespace walpost::capture
