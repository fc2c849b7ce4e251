// From settings to librdkafka's configuration: the profile, the operator's own properties, and on
// top what the guarantees rest on, which no property may change.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/settings.h"
#include "sink/kafka/handles.h"

namespace walpost::sink::kafka {

// The keys of [kafka].
std::vector<KeySpec> ProducerKeys();

// True if the value of this librdkafka property must never be shown.
bool IsSecretProperty(std::string_view property);

// The largest batches that are safe for a topic of this max.message.bytes: librdkafka's count of a
// batch is an estimate, and a batch that is too large takes all of its messages down.
std::size_t SafeBatchBytes(std::size_t max_message_bytes);

// `batch_bytes`: no batch of several messages is larger, whatever the properties say.
// Errors: kInvalidArgument (names the key, the fault and the fix).
absl::StatusOr<ConfHandle> ProducerConf(const Settings& settings, std::size_t batch_bytes);

// For a consumer beside the relay: brokers and the operator's properties, as far as consumers have
// them. Errors: as ProducerConf().
absl::StatusOr<ConfHandle> ConsumerConf(const Settings& settings);

// Topics that messages will go to whatever the rows say: a constant routing.topic, and the
// dead-letter topic if it is in use.
std::vector<std::string> TopicsKnownAtStart(const Settings& settings);

}  // namespace walpost::sink::kafka
