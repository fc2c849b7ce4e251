// For the version verb. No librdkafka type, so that everyone may include it.
#pragma once

#include <string>

namespace walpost::sink {

// The version of the librdkafka in use: "2.0.2".
std::string KafkaLibraryVersion();

}  // namespace walpost::sink
