// What an error of the broker or of librdkafka asks of the relay.
//
// | error                                         | status              | what may be done        |
// |-----------------------------------------------|---------------------|-------------------------|
// | batch refused for its content, with neighbours| kAborted            | send that range singly  |
// | the same, alone                               | kInvalidArgument    | never succeeds          |
// | not authorized                                | kPermissionDenied   | an operator grants it   |
// | broker lacks what idempotence needs           | kFailedPrecondition | an operator upgrades it |
// | everything else: purged, sequence lost, …     | kUnavailable        | a new sink, and replay  |
//
// Errors that heal by a repeated request never come up here: librdkafka repeats for ever.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace walpost::sink::kafka {

// True if the broker refused the content of a batch: one of its messages can't be stored.
bool IsRejectedBatch(rd_kafka_resp_err_t error);

// True for messages that librdkafka gave up because another one failed: no cause of its own.
bool IsConsequence(rd_kafka_resp_err_t error);

// `alone`: no other message can have been in the batch.
absl::Status DeliveryError(rd_kafka_resp_err_t error, bool alone, std::string_view topic,
                           std::int32_t partition);

// For the error that ends the producer, with librdkafka's own words.
absl::Status FatalError(rd_kafka_resp_err_t error, std::string_view text);

// `cause` of one message as the state of the whole sink: what speaks of one message only (kAborted,
// kInvalidArgument) becomes kUnavailable, since making the sink anew is what helps it.
absl::Status SinkFailure(const absl::Status& cause);

}  // namespace walpost::sink::kafka
