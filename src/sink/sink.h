// Where messages leave the relay. A Sink takes messages one at a time, in order, and later, in any
// order, gives one receipt for each. It knows nothing of Postgres, LSNs or transactions.
//
// One Sink is one session: after a failure it is destroyed and a new one is made.
//
// Thread: every call comes from the relay's loop thread. A sink may own threads; none may call
// back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "outbox/message.h"

namespace walpost::sink {

enum class Admission { kAccepted, kFull };

// The answer to one accepted message.
struct Receipt {
  Ticket ticket;
  // OK: durable as SinkTraits says. Any other: not known to be delivered, and the code says what
  // may be done: kUnavailable (retry may duplicate), kAborted (a batch was rejected, culprit
  // unknown), kInvalidArgument (this message will never succeed), kPermissionDenied,
  // kFailedPrecondition.
  absl::Status status;
};

struct SinkTraits {
  bool durable = false;      // an OK receipt survives a crash of the receiving side
  bool total_order = false;  // order is kept over all messages, not only per key
};

struct SinkHealth {
  bool ready = false;
  std::string reason;  // why not, one line; empty when ready
};

class Sink {
 public:
  virtual ~Sink() =
      default;  // Destroying an undrained sink abandons what is outstanding: undelivered.

  // The position this sink itself has stored, if it stores one: whole transactions at or below it
  // are passed over. Called once, before the first Submit. Default: none.
  virtual absl::StatusOr<std::optional<Position>> Start() { return std::optional<Position>(); }

  // Offers `message`. Never blocks and does no network I/O on the calling thread.
  //
  // kAccepted: the sink owns the message; exactly one Receipt with `ticket` will follow.
  // kFull: nothing was taken. Offer it again once ready_fd() has become readable.
  //
  // Messages with equal topic and key are delivered in the order they were accepted (see SinkTraits
  // for sinks that promise more). `message` is borrowed for the call only.
  //
  // Errors:
  //   kInvalidArgument     this message can never be delivered; the sink stays usable.
  //   kUnavailable         the sink has failed and must be made anew; every later call fails alike.
  //   kPermissionDenied    likewise, until somebody grants what the message names.
  //   kFailedPrecondition  likewise, and making it anew won't help (a topic is missing, not
  //   permitted).
  virtual absl::StatusOr<Admission> Submit(Ticket ticket, const outbox::Message& message) = 0;

  // Appends the receipts that have arrived. Never blocks. Once the sink has failed, receipts of all
  // outstanding messages follow soon.
  virtual void TakeReceipts(std::vector<Receipt>& receipts) = 0;

  // Readable while there may be something to do: receipts to take, or room after kFull. Stays
  // readable until TakeReceipts() has been called. Owned by the sink.
  virtual int ready_fd() const = 0;

  // All that was accepted before is one unit, to be made durable together with `position`. Default:
  // nothing.
  virtual void Mark(Position) {}

  // Takes no more; receipts keep coming through TakeReceipts(). Returns at once: the relay owns the
  // deadline, since the loop must go on serving Postgres while the sink drains. drained() once
  // nothing is outstanding.
  virtual void BeginDrain() = 0;
  virtual bool drained() const = 0;

  // Not OK once the sink has failed; the codes are Submit()'s. Where receipts are still to come,
  // they may say more.
  virtual absl::Status failure() const { return absl::OkStatus(); }

  virtual SinkHealth health() const = 0;
  virtual SinkTraits traits() const = 0;
};

}  // namespace walpost::sink
