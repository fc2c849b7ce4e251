// The configuration of the relay: the keys of the core, and what they mean once they are loaded.
//
// Keys are declared in config.cc; each sink declares its own in its row of sink_table.cc. How
// values come together is config_loader's affair.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/conninfo.h"
#include "base/log.h"
#include "base/settings.h"
#include "capture/wal/transaction_assembler.h"
#include "config_loader.h"
#include "interpolation.h"
#include "outbox/mapping_plan.h"
#include "outbox/message_builder.h"
#include "outbox/routing.h"
#include "poison_policy.h"

namespace walpost {

struct ConfigSources {
  std::string file;            // path of the TOML file; "" for none
  Environment environment;     // all variables, for references too
  std::vector<Flag> flags;     // in order, a later one wins
  ConnectionFlags connection;  // laid over source.dsn
};

// How much must be complete and is checked.
enum class ConfigScope {
  kRelay,   // everything
  kSource,  // [source] only: for verbs that touch nothing but Postgres
  kSink,    // all but [source]: for verbs that touch nothing but the brokers
};

// Checked as far as it can be without touching Postgres or a broker.
struct Config {
  explicit Config(Settings loaded) : settings(std::move(loaded)) {}

  Settings settings;  // for the sink's own keys

  std::string dsn;  // may be empty: libpq's defaults and PG* variables
  std::string slot;
  std::string publication;
  std::vector<capture::TableName> tables;     // with message_prefixes: at least one of the two
  std::vector<std::string> message_prefixes;  // of logical messages that are events

  outbox::MappingOptions mapping;
  outbox::RoutingOptions routing;
  outbox::ValueFormat format = {};

  std::string sink_type;
  PoisonOptions poison;
  absl::Duration drain_timeout;
  std::size_t max_inflight_messages = 0;
  std::size_t max_inflight_bytes = 0;

  std::string admin_listen;  // "" for none
  log::Level log_level = log::Level::kInfo;
  log::Format log_format = log::Format::kAuto;
};

// Every key there is, those of all sinks included.
std::vector<KeySpec> AllKeys();

// Errors: one line naming key, origin and fix, with the exit code of a configuration error (a usage
// error for a flag that can't be parsed).
absl::StatusOr<Config> LoadConfig(const ConfigSources& sources,
                                  ConfigScope scope = ConfigScope::kRelay);

}  // namespace walpost
