#include "watermark/confirmer.h"

namespace walpost::watermark {

void Confirmer::BeginSession(const capture::Identity& identity, Lsn server_end) {
  confirmed_.reset();
  const bool same = identity_ == identity && (!released_ || released_->value <= server_end.value) &&
                    (!cut_ || cut_->transaction.commit_lsn <= server_end);
  if (!same) {
    released_.reset();
    cut_.reset();
  }
  identity_ = identity;
}

std::optional<Position> Confirmer::Advance(std::optional<Position> watermark) {
  if (!watermark || (confirmed_ && *watermark <= *confirmed_)) return std::nullopt;
  confirmed_ = watermark;
  // A replay begins below what an earlier session released.
  if (!released_ || *released_ < *watermark) released_ = watermark;
  return confirmed_;
}

void Confirmer::EndSession(const capture::Transaction& transaction, std::uint32_t index) {
  // A later session may have been cut earlier in the stream: never forget what was delivered.
  if (cut_ && (cut_->transaction.commit_lsn > transaction.commit_lsn ||
               (cut_->transaction == transaction && cut_->delivered >= index))) {
    return;
  }
  cut_ = {transaction, index};
}

bool Confirmer::Delivered(const capture::Transaction& transaction, std::uint32_t index) const {
  // A release is a record boundary, so a commit record that starts below it also ends below it.
  if (released_ && transaction.commit_lsn.value < released_->value) return true;
  if (!cut_) return false;
  if (transaction.commit_lsn < cut_->transaction.commit_lsn) return true;
  return cut_->transaction == transaction && index < cut_->delivered;
}

}  // namespace walpost::watermark
