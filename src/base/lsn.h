// Tagged numbers: an LSN, a position and a ticket can't be mistaken for one another.
//
// Nothing here knows what the numbers mean to a server; see capture/wal for that.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walpost {

// A number of one kind. No implicit conversion in or out.
template <typename Tag, typename Representation>
struct Tagged {
  using Value = Representation;
  Representation value = 0;

  constexpr Tagged() = default;
  constexpr explicit Tagged(Representation v) : value(v) {}
  constexpr auto operator<=>(const Tagged&) const = default;
};

// A WAL position: bytes since the beginning of the cluster's WAL. Compared as unsigned 64 bits.
using Lsn = Tagged<struct LsnTag, std::uint64_t>;
using Xid = Tagged<struct XidTag, std::uint32_t>;
using RelationOid = Tagged<struct RelationOidTag, std::uint32_t>;

// What a source confirms: ordered, and opaque above it. For the WAL: an end_lsn or a keepalive's
// walEnd, never anything else.
using Position = Tagged<struct PositionTag, std::uint64_t>;

// One message handed to a sink, numbered from 0 without gaps within one session.
using Ticket = Tagged<struct TicketTag, std::uint64_t>;

// As Postgres prints it: two hexadecimal halves, "16/B374D848".
std::string FormatLsn(Lsn lsn);

// Accepts what FormatLsn prints and nothing else (1 to 8 digits in each half, either case).
std::optional<Lsn> ParseLsn(std::string_view text);

}  // namespace walpost
