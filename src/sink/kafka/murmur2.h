// Kafka's key hash, as the Java client computes it, so that a key is on the partition where every
// other producer of the topic would put it.
#pragma once

#include <cstdint>
#include <string_view>

namespace walpost::sink::kafka {

// org.apache.kafka.common.utils.Utils.murmur2, as the signed number that Java shows.
std::int32_t Murmur2(std::string_view key);

// toPositive(murmur2(key)) % partitions. An empty key is a key. Requires: partitions > 0.
std::int32_t PartitionOf(std::string_view key, std::int32_t partitions);

}  // namespace walpost::sink::kafka
