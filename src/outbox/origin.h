// Where and when an event was committed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "base/lsn.h"

namespace walpost::outbox {

struct Origin {
  std::uint64_t system_identifier = 0;
  std::uint32_t timeline = 0;
  std::string_view database;
  std::string_view relation;        // "schema.table"
  std::string_view message_prefix;  // of a logical message; `relation` is empty then
  Xid xid;
  Lsn commit_lsn;
  std::uint32_t index = 0;  // among the outbox events of the transaction
  absl::Time committed_at;
};

// An event's position as %016X-%08X of commit LSN and index: the value of the header walpost-lsn,
// and what people name an event by. Sorts as text in commit order.
using PositionText = std::array<char, 25>;
PositionText FormatPosition(Lsn commit_lsn, std::uint32_t index);
inline std::string_view TextOf(const PositionText& text) { return {text.data(), text.size()}; }

}  // namespace walpost::outbox
