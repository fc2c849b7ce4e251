// walpost peek: the next events of a slot as JSON, without consuming them.
#include <iostream>

#include "base/status.h"
#include "capture/wal/peek.h"
#include "outbox/event_json.h"
#include "verbs.h"

namespace walpost {
namespace {

// An event that can't be one is told on standard error.
void Print(outbox::EventJson& events, const capture::Batch& batch, std::size_t row,
           const capture::Identity& identity) {
  const absl::StatusOr<std::string> json = events.Line(batch, row, identity);
  if (json.ok()) {
    std::cout << *json << "\n";
  } else {
    std::cerr << "walpost: " << MessageOf(json.status()) << "\n";
  }
}

absl::Status RunPeek(const PeekArgs& args) {
  ASSIGN_OR_RETURN(const ConfigSources sources, SourcesOf(args.config));
  ASSIGN_OR_RETURN(const Config config, LoadConfig(sources, ConfigScope::kSource));
  outbox::EventJson events(config.mapping);
  std::size_t left = args.count;
  const absl::Status status =
      capture::PeekSlot({.dsn = config.dsn,
                         .slot = config.slot,
                         .publication = config.publication,
                         .tables = config.tables,
                         .message_prefixes = config.message_prefixes,
                         .timeout = absl::Seconds(args.timeout_seconds)},
                        [&](const capture::Batch& batch, const capture::Identity& identity) {
                          for (std::size_t row = 0; row < batch.size() && left > 0; ++row, --left) {
                            Print(events, batch, row, identity);
                          }
                          return left > 0;
                        })
          .status();
  std::cout << std::flush;
  return status;
}

}  // namespace

int VerbPeek(const PeekArgs& args) {
  const absl::Status status = RunPeek(args);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : Fail(status);
}

}  // namespace walpost
