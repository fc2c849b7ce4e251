// The text in which Debezium's tracingspancontext column carries a trace: a java.util.Properties,
// lines of `key=value`.
#pragma once

#include <string>
#include <string_view>

namespace walpost::outbox {

// The value of `key`, or "". Views `properties`, or `scratch` where it had escapes.
std::string_view PropertyOf(std::string_view properties, std::string_view key,
                            std::string& scratch);

}  // namespace walpost::outbox
