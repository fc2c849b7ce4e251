// The row of the Kafka sink in sink_table.cc.
//
// The settings it reads: [kafka], and the window (delivery.max_inflight_messages, …_bytes).
#pragma once

#include "sink/sink_table.h"

namespace walpost::sink {

SinkType KafkaSinkType();

}  // namespace walpost::sink
