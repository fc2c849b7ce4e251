#include "outbox/origin.h"

#include <cstddef>
#include <span>

namespace walpost::outbox {
namespace {

// Upper-case hexadecimal, as many digits as there is room.
void FormatHex(std::uint64_t value, std::span<char> out) {
  for (std::size_t i = out.size(); i > 0; --i, value >>= 4U) {
    out[i - 1] = "0123456789ABCDEF"[value & 15U];
  }
}

}  // namespace

PositionText FormatPosition(Lsn commit_lsn, std::uint32_t index) {
  PositionText text{};
  FormatHex(commit_lsn.value, std::span(text).first<16>());
  text[16] = '-';
  FormatHex(index, std::span(text).last<8>());
  return text;
}

}  // namespace walpost::outbox
