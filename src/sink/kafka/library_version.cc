#include "sink/kafka/library_version.h"

#include <librdkafka/rdkafka.h>

namespace walpost::sink {

std::string KafkaLibraryVersion() { return rd_kafka_version_str(); }

}  // namespace walpost::sink
