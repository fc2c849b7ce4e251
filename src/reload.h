// The configuration read again while the relay runs.
//
//   log level and format     at once
//   secrets, source.dsn      with the next session, which reads them in any case
//   everything else          with the next start of the process
#pragma once

#include "config.h"

namespace walpost {

// For a session that begins: a secret may have been changed since. What can't be read leaves
// `config` as it is, with a warning.
void ReadSecretsAgain(const ConfigSources& sources, Config& config);

// On SIGHUP: applies what takes effect at once and names in the log what needs a restart. False:
// the new configuration has a mistake, which is in the log, and nothing has changed.
bool Reload(const ConfigSources& sources, const Config& config);

}  // namespace walpost
