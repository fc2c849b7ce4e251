// walpost slots list: all slots, the most endangered first.
#include <iostream>

#include "base/status.h"
#include "commands.h"
#include "output.h"

namespace walpost::slots {

absl::StatusOr<int> RunList(const ListArgs& args) {
  ASSIGN_OR_RETURN(Server server, Server::Open(args.common.connection));
  ASSIGN_OR_RETURN(const std::optional<double> rate, MeasureWalRate(server, args.sample));
  ASSIGN_OR_RETURN(const std::vector<SlotRow> slots, ReadSlots(server, rate));
  PrintSlots(args.common.output, "list", server, slots, rate, std::cout);
  if (args.common.output == "table") {
    if (rate) std::cout << "WAL grows by " << Bytes(static_cast<std::int64_t>(*rate)) << "/s\n";
    if (slots.empty()) std::cout << "no replication slots\n";
  }
  TellMissingRights(server);
  return 0;
}

}  // namespace walpost::slots
