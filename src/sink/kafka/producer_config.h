// From settings to librdkafka's configuration: the profile, the operator's own properties, and on
// top what the guarantees rest on, which no property may change.
#pragma once

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

// Errors: kInvalidArgument (names the key, the fault and the fix).
absl::StatusOr<ConfHandle> ProducerConf(const Settings& settings);

}  // namespace walpost::sink::kafka
