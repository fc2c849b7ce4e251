// The sink that writes to a file or to standard output, for teams without a broker, for pipes and
// for looking.
//
// Order: of all messages. Durable: a file is synced before its receipts; standard output is not
// durable.
//
// The settings it reads: [file], and the window (delivery.max_inflight_messages, …_bytes).
#pragma once

#include "sink/sink_table.h"

namespace walpost::sink {

SinkType FileSinkType();

}  // namespace walpost::sink
