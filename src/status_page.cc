#include "status_page.h"

#include <algorithm>
#include <limits>

#include "absl/time/clock.h"
#include "nlohmann/json.hpp"

namespace walpost {
namespace {

double LagBytes(const capture::SourceProgress& progress) {
  return progress.server > progress.confirmed
             ? static_cast<double>(progress.server.value - progress.confirmed.value)
             : 0;
}

// How old the newest delivered event is, as long as others wait; an idle outbox isn't late.
absl::Duration CommitLag(const RelayReport& report, absl::Time now) {
  if (report.inflight_messages == 0 || !report.last_delivered_commit) return absl::ZeroDuration();
  return std::max(absl::ZeroDuration(), now - *report.last_delivered_commit);
}

AdminResponse Readiness(bool ready, const std::string& reason) {
  return {.code = ready ? 200 : 503, .body = ready ? "ok\n" : "not ready: " + reason + "\n"};
}

}  // namespace

void ShowInGauges(const RelayReport& report, Metrics& metrics) {
  metrics.SetState(report.state);
  const capture::SourceProgress& progress = report.progress;
  metrics.replication_lag_bytes.Set(LagBytes(progress));
  metrics.received_lsn_bytes.Set(static_cast<double>(progress.received.value));
  metrics.confirmed_lsn_bytes.Set(static_cast<double>(progress.confirmed.value));
  metrics.oldest_unacked_seconds.Set(absl::ToDoubleSeconds(report.oldest_unacknowledged));
  metrics.commit_lag_seconds.Set(absl::ToDoubleSeconds(CommitLag(report, absl::Now())));
  if (report.last_delivered_commit) {
    metrics.last_commit_delivered_timestamp_seconds.Set(
        absl::ToDoubleSeconds(*report.last_delivered_commit - absl::UnixEpoch()));
  }
  metrics.inflight_messages.Set(static_cast<double>(report.inflight_messages));
  metrics.inflight_bytes.Set(static_cast<double>(report.inflight_bytes));
  metrics.slot_active.Set(report.state == RelayState::kStreaming ? 1 : 0);
  metrics.replication_retained_wal_bytes.Set(static_cast<double>(progress.retained_bytes));
  // Without a limit no amount of WAL invalidates the slot.
  metrics.slot_safe_wal_bytes.Set(progress.safe_wal_bytes
                                      ? static_cast<double>(*progress.safe_wal_bytes)
                                      : std::numeric_limits<double>::infinity());
  metrics.SetSlotWalStatus(progress.wal_status);
}

void ShowReload(bool accepted, Metrics& metrics) {
  metrics.config_last_reload_success.Set(accepted ? 1 : 0);
  if (!accepted) return;
  metrics.config_last_reload_success_timestamp_seconds.Set(
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

std::string StatusJson(const RelayReport& report, const std::string& slot) {
  const capture::SourceProgress& progress = report.progress;
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["state"] = NameOf(report.state);
  json["ready"] = report.ready;
  if (!report.reason.empty()) json["reason"] = report.reason;
  json["slot"] = slot;
  if (report.identity) {
    json["database"] = report.identity->database;
    json["system_identifier"] = std::to_string(report.identity->system_identifier);
    json["timeline"] = report.identity->timeline;
  }
  json["received_lsn"] = FormatLsn(progress.received);
  json["delivered_lsn"] = FormatLsn(report.delivered);
  json["confirmed_lsn"] = FormatLsn(progress.confirmed);
  json["server_lsn"] = FormatLsn(progress.server);
  json["lag_bytes"] = static_cast<std::uint64_t>(LagBytes(progress));
  json["commit_lag_seconds"] = absl::ToDoubleSeconds(CommitLag(report, absl::Now()));
  json["inflight_messages"] = report.inflight_messages;
  json["inflight_bytes"] = report.inflight_bytes;
  json["oldest_unacked_seconds"] = absl::ToDoubleSeconds(report.oldest_unacknowledged);
  if (!report.oldest_topic.empty()) json["oldest_unacked_topic"] = report.oldest_topic;
  json["retained_wal_bytes"] = progress.retained_bytes;
  if (report.last_delivered_commit) {
    json["last_delivered_commit"] =
        absl::FormatTime(absl::RFC3339_full, *report.last_delivered_commit, absl::UTCTimeZone());
  }
  if (!report.last_error.empty()) json["last_error"] = report.last_error;
  // An error text can hold any bytes of the other side's.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

AdminResponse Answer(AdminRoute route, Relay& relay, Metrics& metrics, const std::string& slot) {
  constexpr char kJson[] = "application/json";
  if (route == AdminRoute::kLivez) return {.body = "ok\n"};  // the loop turns: it has just answered
  const RelayReport report = relay.Report();
  switch (route) {
    case AdminRoute::kMetrics:
      ShowInGauges(report, metrics);
      return {.content_type = std::string(Metrics::content_type()), .body = metrics.Render()};
    case AdminRoute::kReadyz:
      return Readiness(report.ready, report.reason);
    case AdminRoute::kActive:
      return report.state == RelayState::kStandby
                 ? Readiness(false, "standing by: another process streams from the slot")
                 : Readiness(report.ready, report.reason);
    case AdminRoute::kStatus:
      return {.content_type = kJson, .body = StatusJson(report, slot)};
    case AdminRoute::kLivez:
      break;
  }
  return {.code = 404, .body = ""};
}

}  // namespace walpost
