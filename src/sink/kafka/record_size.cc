#include "sink/kafka/record_size.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace walpost::sink::kafka {
namespace {

constexpr std::size_t kBatchHeader = 61;

std::size_t VarintSize(std::size_t length) {
  std::uint64_t zigzag = static_cast<std::uint64_t>(length) << 1U;
  std::size_t size = 1;
  while ((zigzag >>= 7U) != 0) ++size;
  return size;
}

std::size_t SizeOf(std::optional<std::string_view> bytes) {
  return bytes ? VarintSize(bytes->size()) + bytes->size() : 1;
}

}  // namespace

std::size_t BatchSizeOf(const outbox::Message& message) {
  constexpr std::size_t kAttributesTimeAndOffset = 3;
  std::size_t body = kAttributesTimeAndOffset + SizeOf(message.key) + SizeOf(message.value) +
                     VarintSize(message.headers.size());
  for (const outbox::MessageHeader& header : message.headers) {
    body += SizeOf(header.name) + SizeOf(header.value);
  }
  return kBatchHeader + VarintSize(body) + body;
}

}  // namespace walpost::sink::kafka
