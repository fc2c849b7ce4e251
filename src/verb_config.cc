// walpost config check: whether the configuration would be accepted, without touching anything.
#include <iostream>

#include "base/status.h"
#include "verbs.h"

namespace walpost {

int VerbConfigCheck(const ConfigCheckArgs& args) {
  const absl::StatusOr<ConfigSources> sources = SourcesOf(args.config);
  if (!sources.ok()) return Fail(sources.status());
  const absl::StatusOr<Config> config = LoadConfig(*sources);
  if (!config.ok()) return Fail(config.status());
  std::cout << "the configuration is valid\n";
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace walpost
