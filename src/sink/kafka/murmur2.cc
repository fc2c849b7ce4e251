#include "sink/kafka/murmur2.h"

#include <cstddef>

namespace walpost::sink::kafka {
namespace {

constexpr std::uint32_t kMultiplier = 0x5bd1e995;
constexpr std::uint32_t kSeed = 0x9747b28c;

std::uint32_t Byte(std::string_view key, std::size_t index) {
  return static_cast<unsigned char>(key[index]);
}

}  // namespace

std::int32_t Murmur2(std::string_view key) {
  // Java's length is an int; a key is far below 2 GiB.
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
  std::size_t at = 0;
  for (; key.size() - at >= 4; at += 4) {
    std::uint32_t word =
        Byte(key, at) | Byte(key, at + 1) << 8 | Byte(key, at + 2) << 16 | Byte(key, at + 3) << 24;
    word *= kMultiplier;
    word ^= word >> 24;
    word *= kMultiplier;
    hash *= kMultiplier;
    hash ^= word;
  }
  if (const std::size_t rest = key.size() - at; rest > 0) {
    for (std::size_t i = 0; i < rest; ++i) hash ^= Byte(key, at + i) << (8 * i);
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return static_cast<std::int32_t>(hash);
}

std::int32_t PartitionOf(std::string_view key, std::int32_t partitions) {
  return (Murmur2(key) & 0x7fffffff) % partitions;
}

}  // namespace walpost::sink::kafka
