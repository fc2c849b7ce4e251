// The sink that produces to Kafka: idempotent and gapless, so that what the brokers hold of a
// session is a prefix, per partition, of what was accepted.
//
// Order: per topic and key. Durable: every in-sync replica has an acknowledged message (acks=all).
//
// The settings it reads: [kafka], and the window (delivery.max_inflight_messages, …_bytes).
#pragma once

#include "sink/sink_table.h"

namespace walpost::sink {

SinkType KafkaSinkType();

}  // namespace walpost::sink
