// walpost peek: the next events of a slot as JSON, without consuming them.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"
#include "capture/wal/peek.h"
#include "outbox/envelope.h"
#include "outbox/event_reader.h"
#include "verbs.h"

namespace walpost {
namespace {

class Printer {
 public:
  explicit Printer(const Config& config) : reader_(config.mapping) {}

  // An event that can't be one is told on standard error.
  void Print(const capture::Batch& batch, std::size_t row, const capture::Identity& identity) {
    const std::uint32_t index = batch.first_index + static_cast<std::uint32_t>(row);
    const absl::StatusOr<outbox::Event> event = reader_.Read(batch.row(row));
    const absl::StatusOr<std::string> json = event.ok()
                                                 ? Json(*event, batch.transaction, index, identity)
                                                 : absl::StatusOr<std::string>(event.status());
    if (json.ok()) {
      std::cout << *json << "\n";
      return;
    }
    const outbox::PositionText position =
        outbox::FormatPosition(batch.transaction.commit_lsn, index);
    std::cerr << "walpost: event " << outbox::TextOf(position) << ": " << MessageOf(json.status())
              << "\n";
  }

 private:
  absl::StatusOr<std::string> Json(const outbox::Event& event,
                                   const capture::Transaction& transaction, std::uint32_t index,
                                   const capture::Identity& identity) {
    ASSIGN_OR_RETURN(const std::string_view envelope,
                     encoder_.Encode(event, {.system_identifier = identity.system_identifier,
                                             .timeline = identity.timeline,
                                             .database = identity.database,
                                             .relation = reader_.relation_name(),
                                             .message_prefix = reader_.message_prefix(),
                                             .xid = transaction.xid,
                                             .commit_lsn = transaction.commit_lsn,
                                             .index = index,
                                             .committed_at = transaction.commit_time}));
    return outbox::EnvelopeJson(envelope);
  }

  outbox::EventReader reader_;
  outbox::EnvelopeEncoder encoder_;
};

absl::Status RunPeek(const PeekArgs& args) {
  ASSIGN_OR_RETURN(const ConfigSources sources, SourcesOf(args.config));
  ASSIGN_OR_RETURN(const Config config, LoadConfig(sources, ConfigScope::kSource));
  Printer printer(config);
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
                            printer.Print(batch, row, identity);
                          }
                          return left > 0;
                        });
  std::cout << std::flush;
  return status;
}

}  // namespace

int VerbPeek(const PeekArgs& args) {
  const absl::Status status = RunPeek(args);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : Fail(status);
}

}  // namespace walpost
