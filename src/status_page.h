// What the administration port answers: metrics, liveness, readiness, and /status as JSON.
#pragma once

#include <string>

#include "admin_endpoint.h"
#include "base/metrics.h"
#include "relay.h"

namespace walpost {

// Brings the gauges up to date with `report`.
void ShowInGauges(const RelayReport& report, Metrics& metrics);

// The configuration was read, and accepted or not.
void ShowReload(bool accepted, Metrics& metrics);

// /status: LSNs as text, sizes in bytes, times in RFC 3339 UTC; keys are only ever added.
std::string StatusJson(const RelayReport& report, const std::string& slot);

AdminResponse Answer(AdminRoute route, Relay& relay, Metrics& metrics, const std::string& slot);

}  // namespace walpost
