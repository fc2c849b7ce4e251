#include "reload.h"

#include <string_view>

#include "base/log.h"
#include "base/status.h"

namespace walpost {
namespace {

bool TakesEffect(std::string_view key) {
  return key == "log.level" || key == "log.format" || key == "source.dsn";
}

}  // namespace

void ReadSecretsAgain(const ConfigSources& sources, Config& config) {
  // Not the sink's own check, which may take its time.
  absl::StatusOr<Config> fresh = LoadConfig(sources, ConfigScope::kSource);
  if (!fresh.ok()) {
    log::Warning("the configuration can't be read again: going on with the old secrets",
                 {{"err", MessageOf(fresh.status())}});
    return;
  }
  config.dsn = fresh->dsn;
  config.settings.TakeSecrets(fresh->settings);
}

bool Reload(const ConfigSources& sources, const Config& config) {
  const absl::StatusOr<Config> fresh = LoadConfig(sources);
  if (!fresh.ok()) {
    log::Warning("the configuration was not taken: it has a mistake",
                 {{"err", MessageOf(fresh.status())}});
    return false;
  }
  log::Configure(fresh->log_level, fresh->log_format);
  log::Info("the configuration was read again");
  for (const std::string_view key : config.settings.Differing(fresh->settings)) {
    if (!TakesEffect(key)) log::Warning("a changed key needs a restart", {{"key", key}});
  }
  return true;
}

}  // namespace walpost
