#include "capture/wal/watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

bool TellsOfShutdown(const absl::Status& status) {
  const std::string state = SqlStateOf(status);
  return state == "57P01" || state == "57P03";
}

}  // namespace

absl::Status Watch::Start(MonotonicTime now) { return Open(now); }

absl::Status Watch::Open(MonotonicTime now) {
  PgOptions pg = options_.pg;
  pg.address = known_address_;
  absl::StatusOr<std::unique_ptr<PgSession>> session = PgSession::Start(pg);
  if (!session.ok()) return session.status();
  opening_.emplace(Session{*std::move(session), false, now + limits::kConnectTimeout});
  return absl::OkStatus();
}

absl::Status Watch::Tick(MonotonicTime now) {
  RETURN_IF_ERROR(ServeCurrent(now));
  if (!opening_ && now >= reopen_) {
    reopen_ = now + limits::kCheckInterval;
    if (absl::Status status = Open(now); !status.ok()) {
      log::Warning("can't reopen the ordinary connection", {{"err", MessageOf(status)}});
    }
  }
  return ServeOpening(now);
}

absl::Status Watch::ServeOpening(MonotonicTime now) {
  if (!opening_) return absl::OkStatus();
  absl::Status status = opening_->pg->Step();
  if (status.ok() && now >= opening_->give_up) {
    status = Error(absl::StatusCode::kUnavailable, "Postgres did not answer in time");
  }
  if (status.ok() && !opening_->asked && opening_->pg->idle()) {
    opening_->asked = true;
    status = Ask(*opening_->pg);
  }
  bool answered = false;
  if (status.ok() && opening_->asked) status = TakeAnswer(*opening_->pg, answered);
  if (!status.ok()) {
    opening_.reset();
    if (TellsOfShutdown(status)) server_is_stopping_ = true;
    if (SqlStateOf(status) == "57P03") server_refuses_ = true;
    if (!had_facts_) return status;
    log::Warning("can't reopen the ordinary connection", {{"err", MessageOf(status)}});
    if (current_ == nullptr) reopen_ = now + limits::kShutdownBackoff;
    return absl::OkStatus();
  }
  if (answered) {
    current_ = std::move(opening_->pg);  // the old one closes only now
    opening_.reset();
    address_ = current_->address();
    known_address_ = address_;
    had_facts_ = true;
    asking_ = false;
    server_is_stopping_ = false;  // it was only our session that was ended
  }
  return absl::OkStatus();
}

absl::Status Watch::ServeCurrent(MonotonicTime now) {
  if (current_ == nullptr) return absl::OkStatus();
  absl::Status status = current_->Step();
  for (const PgSession::Notice& notice : current_->TakeNotices()) {
    if (notice.sqlstate == "57P01") server_is_stopping_ = true;
  }
  if (status.ok() && asking_) {
    bool answered = false;
    status = now >= give_up_
                 ? Error(absl::StatusCode::kUnavailable, "Postgres did not answer in time")
                 : TakeAnswer(*current_, answered);
    if (answered) asking_ = false;
  }
  if (status.ok() && !asking_ && now >= look_again_) {
    look_again_ = MonotonicTime::Never();
    asking_ = true;
    give_up_ = now + limits::kConnectTimeout;
    status = Ask(*current_);
  }
  if (!status.ok()) CurrentEnded(status, now);
  return absl::OkStatus();
}

void Watch::CurrentEnded(const absl::Status& status, MonotonicTime now) {
  if (TellsOfShutdown(status)) server_is_stopping_ = true;
  log::Warning("the ordinary connection ended", {{"err", MessageOf(status)}});
  current_.reset();
  asking_ = false;
  reopen_ = now;
}

absl::Status Watch::Ask(PgSession& session) {
  // The session idles for long, and nothing may kill it for that.
  return session.Send(
      absl::StrCat("SET idle_session_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET "
                   "statement_timeout = ",
                   absl::ToInt64Milliseconds(limits::kConnectTimeout), "; ",
                   CatalogSql(session, options_.question)));
}

absl::Status Watch::TakeAnswer(PgSession& session, bool& answered) {
  std::optional<absl::StatusOr<PgRows>> answer = session.TakeResult();
  if (!answer) return absl::OkStatus();
  RETURN_IF_ERROR(answer->status());
  ASSIGN_OR_RETURN(facts_, ReadCatalog(**answer, options_.question, session.server_version()));
  answered = true;
  return absl::OkStatus();
}

void Watch::AppendPolls(std::vector<pollfd>& polls) const {
  if (current_ != nullptr) polls.push_back(current_->poll());
  if (opening_) polls.push_back(opening_->pg->poll());
}

MonotonicTime Watch::deadline() const {
  MonotonicTime soonest = opening_ ? opening_->give_up : reopen_;
  if (current_ != nullptr) soonest = std::min(soonest, asking_ ? give_up_ : look_again_);
  return soonest;
}

}  // namespace walpost::capture
