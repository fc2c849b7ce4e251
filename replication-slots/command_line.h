// The commands below `walpost slots`.
#pragma once

#include <functional>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace walpost::slots {

// Adds them to `parent`. `choose` is called with what runs the one that was named. The arguments
// live as long as the process.
void AddCommands(CLI::App& parent,
                 const std::function<void(std::function<absl::StatusOr<int>()>)>& choose);

}  // namespace walpost::slots
