// The relay that articles on the outbox pattern describe: select what is unpublished, produce, mark it.
#include "targets/poller.h"

#include <librdkafka/rdkafka.h>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"
#include "targets/target.h"

namespace walpost::bench {
namespace {

constexpr std::string_view kPublishedAt =
    "ALTER TABLE outbox ADD COLUMN published_at timestamptz;"
    "CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL";
constexpr std::string_view kMarkPublished =
    "UPDATE outbox SET published_at = now() WHERE id = ANY($1::uuid[])";

class Poller : public Target {
 public:
  Poller(const Programs& programs, const PollPreset& preset)
      : self_(programs.self), preset_(preset) {}
  std::string name() const override { return std::string(preset_.name); }
  std::string about() const override { return std::string(preset_.about); }
  Reads reads() const override { return Reads::kTable; }
  std::string TableSql() const override { return std::string(preset_.table_sql); }
  std::string application_name() const override { return kPollerApplication; }
  absl::StatusOr<std::string> Version() const override {
    return absl::StrCat("librdkafka ", rd_kafka_version_str());
  }
  std::map<std::string, std::string> Settings() const override {
    return {{"pause", absl::FormatDuration(preset_.pause)},
            {"producer", "linger 0, lz4, acks all, idempotent"},
            {"take", std::string(preset_.take)},
            {"done", std::string(preset_.done)}};
  }
  absl::StatusOr<Command> Prepare(const Assignment& assignment) const override {
    return Command{.argv = {self_, "poll", "--preset", name(), "--dsn", assignment.dsn(),
                            "--bootstrap", assignment.bootstrap, "--topic", assignment.topic}};
  }

 private:
  const std::string self_;
  const PollPreset& preset_;
};

}  // namespace

const std::vector<PollPreset>& PollPresets() {
  static const std::vector<PollPreset> presets = {
      {.name = "poll-2s-50",
       .about = "polls every 2 s for 50 rows in order of id",
       .table_sql = kPublishedAt,
       .take = "SELECT id, aggregate_id, payload FROM outbox WHERE published_at IS NULL ORDER BY "
               "id LIMIT 50 "
               "FOR UPDATE SKIP LOCKED",
       .done = kMarkPublished,
       .pause = absl::Seconds(2),
       .holds_locks = true},
      {.name = "poll-1s-100-claim",
       .about = "polls every 1 s and claims 100 rows: PENDING, PROCESSING (60 s), PUBLISHED",
       .table_sql = "ALTER TABLE outbox ADD COLUMN status text NOT NULL DEFAULT 'PENDING',"
                    "ADD COLUMN locked_until timestamptz;"
                    "CREATE INDEX outbox_unpublished ON outbox (id) WHERE status <> 'PUBLISHED'",
       .take = "UPDATE outbox SET status = 'PROCESSING', locked_until = now() + interval '60 s' "
               "WHERE id IN ("
               "SELECT id FROM outbox WHERE status <> 'PUBLISHED' AND (status = 'PENDING' OR "
               "locked_until < now()) "
               "ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED) RETURNING id, aggregate_id, payload",
       .done = "UPDATE outbox SET status = 'PUBLISHED' WHERE id = ANY($1::uuid[])",
       .pause = absl::Seconds(1),
       .holds_locks = false},
      {.name = "poll-5s-sweep",
       .about = "sweeps every 5 s over all that is not processed",
       .table_sql = "ALTER TABLE outbox ADD COLUMN processed boolean NOT NULL DEFAULT false;"
                    "CREATE INDEX outbox_unpublished ON outbox (id) WHERE NOT processed",
       .take = "SELECT id, aggregate_id, payload FROM outbox WHERE NOT processed ORDER BY id",
       .done = "UPDATE outbox SET processed = true WHERE id = ANY($1::uuid[])",
       .pause = absl::Seconds(5),
       .holds_locks = true},
      {.name = "poll-100-skip-locked",
       .about = "100 rows back to back, SKIP LOCKED, without a pause",
       .table_sql = kPublishedAt,
       .take = "SELECT id, aggregate_id, payload FROM outbox WHERE published_at IS NULL ORDER BY "
               "id LIMIT 100 "
               "FOR UPDATE SKIP LOCKED",
       .done = kMarkPublished,
       .pause = absl::ZeroDuration(),
       .holds_locks = true},
  };
  return presets;
}

const PollPreset* FindPollPreset(std::string_view name) {
  for (const PollPreset& preset : PollPresets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::unique_ptr<Target> MakePoller(const Programs& programs, std::string_view name) {
  return std::make_unique<Poller>(programs, *FindPollPreset(name));
}

}  // namespace walpost::bench
