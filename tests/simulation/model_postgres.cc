#include "model_postgres.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace walpost::simulation {
namespace {

constexpr std::size_t kKeys = 5;
constexpr std::uint32_t kRelation = 16'400;

// Big-endian, as the protocol has it.
template <typename T>
void Put(std::string& out, T value) {
  for (std::size_t i = sizeof(T); i > 0; --i) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (i - 1)));
  }
}

void PutString(std::string& out, const std::string& text) { out += text + '\0'; }

std::string Data(std::uint64_t start, std::uint64_t wal_end, const std::string& message) {
  std::string frame = "w";
  Put(frame, start);
  Put(frame, wal_end);
  Put(frame, std::uint64_t{0});
  return frame + message;
}

std::string Begin(const ModelTransaction& transaction) {
  std::string message = "B";
  Put(message, transaction.commit_lsn);
  Put(message, std::uint64_t{transaction.xid} * 1000);
  Put(message, transaction.xid);
  return message;
}

std::string Commit(const ModelTransaction& transaction) {
  std::string message = "C";
  message += '\0';
  Put(message, transaction.commit_lsn);
  Put(message, transaction.end_lsn);
  Put(message, std::uint64_t{transaction.xid} * 1000);
  return message;
}

std::string Relation() {
  std::string message = "R";
  Put(message, kRelation);
  PutString(message, "public");
  PutString(message, "outbox");
  message += 'd';
  Put(message, std::uint16_t{5});
  for (const char* column : {"id", "aggregate_type", "aggregate_id", "event_type", "payload"}) {
    message += '\0';
    PutString(message, column);
    Put(message, std::uint32_t{25});
    Put(message, std::uint32_t{0xFFFFFFFF});
  }
  return message;
}

std::string Insert(const ModelEvent& event) {
  std::string message = "I";
  Put(message, kRelation);
  message += 'N';
  Put(message, std::uint16_t{5});
  const std::string id = event.poison == Poison::kUnmappable ? "" : event.id;
  for (const std::string& value :
       {id, std::string("order"), event.key, std::string("placed"), std::string("{}")}) {
    message += 't';
    Put(message, static_cast<std::uint32_t>(value.size()));
    message += value;
  }
  return message;
}

}  // namespace

ModelEvent ModelPostgres::NewEvent() {
  ModelEvent event{absl::StrCat("e", next_id_++), absl::StrCat("k", dice_.Below(kKeys)), wal_end_};
  if (with_poison_ && dice_.Percent(3)) {
    constexpr Poison kKinds[] = {Poison::kUnmappable, Poison::kTooLarge, Poison::kRefused};
    event.poison = kKinds[dice_.Below(3)];
  }
  known_[event.id] = event;
  // Rows of one COPY share an LSN.
  if (dice_.Percent(70)) wal_end_ += dice_.Between(1, 9) * 8;
  return event;
}

void ModelPostgres::Work() {
  const std::size_t what = dice_.Below(10);
  if (open_.empty() || (what < 2 && open_.size() < 4)) {
    open_.push_back({next_xid_++, {}});
    return;
  }
  const std::size_t which = dice_.Below(open_.size());
  OpenTransaction& transaction = open_[which];
  if (what < 6) {
    transaction.touched = true;
    if (dice_.Percent(25)) {
      wal_end_ += 64;  // another table's row
      return;
    }
    const std::size_t rows = dice_.Percent(2) ? dice_.Between(200, 600) : dice_.Between(1, 4);
    for (std::size_t i = 0; i < rows; ++i) transaction.events.push_back(NewEvent());
  } else if (what == 6) {  // ROLLBACK TO SAVEPOINT
    const std::size_t keep = dice_.Below(transaction.events.size() + 1);
    transaction.events.resize(keep);
    wal_end_ += 32;
  } else if (what == 7) {
    wal_end_ += 32;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  } else {
    Commit(which);
  }
}

void ModelPostgres::Commit(std::size_t which) {
  ModelTransaction transaction{open_[which].xid, wal_end_, wal_end_ + 48,
                               std::move(open_[which].events)};
  transaction.seen = !transaction.events.empty() || (open_[which].touched && dice_.Percent(50));
  wal_end_ = transaction.end_lsn;
  if (dice_.Percent(30)) wal_end_ += 24;
  committed_.push_back(std::move(transaction));
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
}

void ModelPostgres::Quiesce() {
  while (!open_.empty()) Commit(0);
}

void ModelPostgres::Crash() {
  open_.clear();
  confirmed_flush_ = saved_;
}

void ModelPostgres::StartReplication() {
  outgoing_.clear();
  inside_ = described_ = false;
  announced_ = confirmed_flush_;
  sent_end_ = confirmed_flush_;
  positions_ = {confirmed_flush_};
  next_transaction_ = 0;
  while (next_transaction_ < committed_.size() &&
         committed_[next_transaction_].end_lsn <= confirmed_flush_) {
    ++next_transaction_;
  }
}

void ModelPostgres::Send(const ModelTransaction& transaction) {
  outgoing_.push_back(Data(transaction.commit_lsn, transaction.commit_lsn, Begin(transaction)));
  for (const ModelEvent& event : transaction.events) {
    if (!described_ || dice_.Percent(3)) outgoing_.push_back(Data(0, 0, Relation()));
    described_ = true;
    outgoing_.push_back(Data(event.row_lsn, event.row_lsn, Insert(event)));
  }
  outgoing_.push_back(
      Data(transaction.end_lsn, transaction.end_lsn, walpost::simulation::Commit(transaction)));
}

std::string ModelPostgres::Keepalive() {
  std::uint64_t position = sent_end_;
  if (inside_) {
    position = committed_[next_transaction_ - 1].commit_lsn;
  } else {
    // Everything decoded up to the commit record of what comes next.
    std::size_t next = next_transaction_;
    while (next < committed_.size() && !committed_[next].seen) ++next;
    const std::uint64_t most = next < committed_.size() ? committed_[next].commit_lsn : wal_end_;
    if (most > position) position = dice_.Percent(50) ? most : position;
    announced_ = std::max(announced_, position);
    positions_.insert(position);
  }
  std::string frame = "k";
  Put(frame, position);
  Put(frame, std::uint64_t{0});
  frame += static_cast<char>(dice_.Percent(30) ? 1 : 0);
  return frame;
}

std::optional<std::string> ModelPostgres::NextFrame() {
  if (dice_.Percent(8)) return Keepalive();
  while (outgoing_.empty() && next_transaction_ < committed_.size()) {
    const ModelTransaction& transaction = committed_[next_transaction_++];
    if (transaction.seen) Send(transaction);
  }
  if (outgoing_.empty()) return std::nullopt;
  std::string frame = std::move(outgoing_.front());
  outgoing_.pop_front();
  inside_ = !outgoing_.empty();
  if (!inside_) {
    sent_end_ = committed_[next_transaction_ - 1].end_lsn;
    announced_ = std::max(announced_, sent_end_);
    positions_.insert(sent_end_);
  }
  return frame;
}

std::string ModelPostgres::OnStatus(std::uint64_t flush) {
  if (flush > announced_) {
    return absl::StrCat("flush ", flush, " is above ", announced_, ", which was announced");
  }
  if (!positions_.contains(flush)) {
    return absl::StrCat("flush ", flush, " is no end of a transaction and no walEnd");
  }
  if (flush < confirmed_flush_) return absl::StrCat("flush fell to ", flush);
  confirmed_flush_ = flush;
  if (dice_.Percent(20)) saved_ = confirmed_flush_;
  return "";
}

}  // namespace walpost::simulation
