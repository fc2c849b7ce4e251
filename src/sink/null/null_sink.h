// The sink that keeps nothing: each message is acknowledged at once. For benchmarks of what comes
// before a sink.
#pragma once

#include "sink/sink_table.h"

namespace walpost::sink {

SinkType NullSinkType();

}  // namespace walpost::sink
