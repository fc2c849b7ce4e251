// What this process knows to be delivered, across its sessions.
//
// A session ends with events that the broker has and the slot doesn't know of. The server replays
// them from the slot's position; a process that is still the same passes them over, whole
// transactions and the leading events of one that was cut. It is only memory: after a restart of
// the process the slot's position is all there is, and they come again.
//
// Why (commit_lsn, index) and never the LSN of a row: several rows share one, and overlapping
// transactions make them go backwards.
#pragma once

#include <cstdint>
#include <optional>

#include "base/lsn.h"
#include "capture/batch.h"

namespace walpost::watermark {

// Pure. Thread: loop only. One per process.
class Confirmer {
 public:
  // A stream starts. What was remembered holds only for the same system and timeline, and only if
  // the server's WAL reaches that far (`server_end`: an older copy of the data would have other
  // events there).
  void BeginSession(const capture::Identity& identity, Lsn server_end);

  // The watermark of the running session rose to `watermark`. Returns the position to confirm if it
  // is new.
  std::optional<Position> Advance(std::optional<Position> watermark);

  // The session ended; all events of `transaction` with a lower index than `index`, and everything
  // before that transaction, are delivered.
  void EndSession(const capture::Transaction& transaction, std::uint32_t index);

  // Is this event known to be delivered by an earlier session?
  bool Delivered(const capture::Transaction& transaction, std::uint32_t index) const;

  // The newest position known to be delivered.
  std::optional<Position> released() const { return released_; }

 private:
  struct Cut {
    capture::Transaction transaction;
    std::uint32_t delivered = 0;  // leading events
  };
  std::optional<capture::Identity> identity_;
  std::optional<Position> released_;   // of this system and timeline
  std::optional<Position> confirmed_;  // in this session
  std::optional<Cut> cut_;
};

}  // namespace walpost::watermark
