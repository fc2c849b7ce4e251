// The Source that reads Postgres's WAL: one ordinary connection that checks and watches, one
// replication connection that streams.
//
//   state        who enters it                         what is true in it
//   kConnecting  the constructor                       the watch connects, then the stream
//   kStandby     the slot is active elsewhere          only the watch, asking every 500 ms
//   kStreaming   START_REPLICATION answered            batches come; the watch checks every 10 s
//   kStopping    BeginStop() while streaming           the last status is said; input is discarded
//                                                      until confirmed_flush_lsn shows its arrival
//   kStopped     that proof, or nothing to prove       no stream is open
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "capture/source.h"
#include "capture/wal/connection.h"
#include "capture/wal/feedback.h"
#include "capture/wal/transaction_assembler.h"
#include "capture/wal/watch.h"

namespace walpost::capture {

struct WalSourceOptions {
  std::string dsn;
  std::string slot;
  std::string publication;
  std::vector<TableName> tables;
  std::vector<std::string> message_prefixes;  // of logical messages that are events
  // Of this process's last stream: what is missing now has vanished since. None: the first one.
  std::optional<LastSeen> last_seen;
};

class WalSource : public Source {
 public:
  // Begins to connect. Errors: kInvalidArgument (the dsn), kUnavailable.
  static absl::StatusOr<std::unique_ptr<Source>> Start(const WalSourceOptions& options,
                                                       MonotonicTime now);

  void AppendPolls(std::vector<pollfd>& polls, bool paused) const override;
  MonotonicTime deadline() const override;
  absl::Status Tick(MonotonicTime now, bool anything_unconfirmed) override;
  absl::StatusOr<bool> TakeBatch(MonotonicTime now, Batch& batch) override;
  void Confirm(Position through) override;
  void BeginStop(MonotonicTime now) override;

  SourceState state() const override { return state_; }
  bool inside_transaction() const override { return assembler_.inside_transaction(); }
  const std::optional<Identity>& identity() const override { return identity_; }
  SourceProgress progress() const override;
  bool server_is_stopping() const override { return watch_.server_is_stopping(); }

 private:
  explicit WalSource(const WalSourceOptions& options);

  absl::Status OnFacts(const CatalogFacts& facts, MonotonicTime now);
  absl::Status ServeHandshake(MonotonicTime now);
  absl::Status ServeStream(MonotonicTime now);
  absl::Status ServeStopping(MonotonicTime now);
  absl::Status SayStatus(MonotonicTime now, bool ask_for_proof);
  void CloseStream();
  absl::Status HandleNotices(MonotonicTime now);
  absl::StatusOr<bool> OnFrame(OwnedFrame frame);
  void EnterStandby(MonotonicTime now);
  // Did this process confirm all that the slot says is confirmed, on this server?
  absl::Status CheckContinuity() const;
  void CountForGathering(MonotonicTime now, std::size_t frames);

  const WalSourceOptions options_;
  SourceState state_ = SourceState::kConnecting;
  Watch watch_;
  std::unique_ptr<Connection> connection_;
  TransactionAssembler assembler_;
  std::optional<Feedback> feedback_;
  std::optional<Identity> identity_;
  CatalogFacts facts_;
  MonotonicTime connect_give_up_ = MonotonicTime::Never();
  // Another process held the slot: what it confirmed is no gap.
  bool stood_by_ = false;

  PgSession::Notice last_notice_;
  MonotonicTime noticed_;

  std::uint64_t bytes_ = 0;
  std::uint64_t status_updates_ = 0;

  // Reads gather under load: see limits::kGather.
  MonotonicTime gather_until_;
  MonotonicTime last_read_;
  MonotonicTime window_start_;
  std::size_t window_frames_ = 0;
  bool busy_ = false;
};

}  // namespace walpost::capture
