#include "outbox/event.h"

#include <cstddef>

namespace walpost::outbox {

std::string_view ShownId(std::string_view event_id) {
  constexpr std::size_t kMost = 200;
  if (event_id.size() <= kMost) return event_id;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(event_id[end]) & 0xC0U) == 0x80U) --end;
  return event_id.substr(0, end);
}

}  // namespace walpost::outbox
