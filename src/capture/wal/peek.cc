#include "capture/wal/peek.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/status.h"
#include "capture/wal/connection.h"

namespace walpost::capture {
namespace {

class Peek {
 public:
  explicit Peek(const PeekOptions& options)
      : options_(options),
        deadline_(MonotonicNow() + options.timeout),
        assembler_(options.tables, options.message_prefixes) {}

  absl::StatusOr<PeekSummary> Run(OnBatch on_batch) {
    RETURN_IF_ERROR(Start());
    bool more = true;
    while (more && MonotonicNow() < deadline_) {
      ASSIGN_OR_RETURN(std::optional<OwnedFrame> frame, connection_->Next());
      if (!frame) {
        RETURN_IF_ERROR(AskForPosition());
        Wait();
        continue;
      }
      ASSIGN_OR_RETURN(more, OnFrame(*std::move(frame), on_batch));
    }
    return PeekSummary{at_end_, assembler_.ignored_changes()};
  }

 private:
  absl::Status Start() {
    ConnectionOptions options;
    options.pg.dsn = options_.dsn;
    options.pg.application_name = "walpost peek";
    options.pg.address = options_.address;
    // In containers every process may have the same number.
    options.slot = absl::StrCat("walpost_peek_", getpid(), "_", std::random_device{}());
    options.copy_of = options_.slot;
    options.publication = options_.publication;
    options.messages = options_.all_messages || !options_.message_prefixes.empty();
    ASSIGN_OR_RETURN(connection_, Connection::Start(std::move(options)));
    while (!connection_->streaming()) {
      if (MonotonicNow() >= deadline_) {
        return Error(absl::StatusCode::kUnavailable, "Postgres did not start streaming in time");
      }
      Wait();
      RETURN_IF_ERROR(connection_->Step());
    }
    return absl::OkStatus();
  }

  void Wait() {
    pollfd ready = connection_->poll(true);
    const absl::Duration left =
        std::clamp(deadline_ - MonotonicNow(), absl::ZeroDuration(), absl::Milliseconds(100));
    ::poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (connection_->streaming()) connection_->Readable();
  }

  // A quiet server is asked where it is; confirms nothing.
  absl::Status AskForPosition() {
    if (connection_->flush_pending()) return connection_->Flush();
    const MonotonicTime now = MonotonicNow();
    if (now - asked_ < absl::Milliseconds(100)) return absl::OkStatus();
    asked_ = now;
    return connection_->Send(
        EncodeStatusUpdate({.write = received_, .reply_requested = true}, absl::Now()));
  }

  absl::StatusOr<bool> OnFrame(OwnedFrame frame, OnBatch on_batch) {
    ASSIGN_OR_RETURN(const Frame parsed, ParseFrame(frame.bytes()));
    if (const auto* keepalive = std::get_if<Keepalive>(&parsed)) {
      received_ = std::max(received_, keepalive->wal_end);
      at_end_ = !assembler_.inside_transaction() && keepalive->wal_end >= connection_->xlogpos();
      return !at_end_;
    }
    const auto& data = std::get<XLogData>(parsed);
    received_ = std::max(received_, data.data_start);
    ASSIGN_OR_RETURN(const bool complete, assembler_.Add(data, std::move(frame)));
    if (!complete) return true;
    assembler_.Take(batch_);
    return batch_.empty() || on_batch(batch_, connection_->identity());
  }

  const PeekOptions& options_;
  const MonotonicTime deadline_;
  TransactionAssembler assembler_;
  std::unique_ptr<Connection> connection_;
  Batch batch_;
  Lsn received_;
  bool at_end_ = false;
  MonotonicTime asked_;
};

}  // namespace

absl::StatusOr<PeekSummary> PeekSlot(const PeekOptions& options, OnBatch on_batch) {
  return Peek(options).Run(on_batch);
}

}  // namespace walpost::capture
