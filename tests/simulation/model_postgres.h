// A Postgres reduced to what replication shows of it: transactions that overlap, commit, roll back
// and undo parts of themselves, and a slot. What it sends are the bytes of the real protocol.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/lsn.h"
#include "dice.h"

namespace walpost::simulation {

enum class Poison : std::uint8_t {
  kNone,
  kUnmappable,  // no event can be made of it
  kTooLarge,    // the sink refuses it
  kRefused,     // the broker refuses it
};

struct ModelEvent {
  std::string id;  // "" where it can't be read: kUnmappable
  std::string key;
  std::uint64_t row_lsn = 0;
  Poison poison = Poison::kNone;
};

struct ModelTransaction {
  std::uint32_t xid = 0;
  std::uint64_t commit_lsn = 0;
  std::uint64_t end_lsn = 0;
  std::vector<ModelEvent> events;  // those that are committed, in order
  bool seen = true;                // a server may leave out a transaction with nothing in it
};

class ModelPostgres {
 public:
  ModelPostgres(Dice& dice, bool with_poison) : dice_(dice), with_poison_(with_poison) {}

  // One step of the applications: a row, a commit, a rollback, other tables' work.
  void Work();
  // Ends what is open, so that the WAL stands still.
  void Quiesce();
  // Everything that is not on disk is forgotten; the slot's position is what was saved last.
  void Crash();

  // --- A walsender's session ---
  void StartReplication();
  // The next frame, if there is one now. A keepalive may come at any time.
  std::optional<std::string> NextFrame();
  // A status update arrived. Returns what is wrong with it: "" if nothing is.
  std::string OnStatus(std::uint64_t flush);

  Poison PoisonOf(const std::string& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? Poison::kNone : found->second.poison;
  }
  std::uint64_t RowLsnOf(const std::string& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? 0 : found->second.row_lsn;
  }
  const std::vector<ModelTransaction>& committed() const { return committed_; }
  std::uint64_t confirmed_flush() const { return confirmed_flush_; }
  std::uint64_t wal_end() const { return wal_end_; }
  std::uint64_t announced() const { return announced_; }
  bool caught_up() const { return next_transaction_ == committed_.size() && outgoing_.empty(); }

 private:
  struct OpenTransaction {
    std::uint32_t xid;
    std::vector<ModelEvent> events;
    bool touched = false;
  };
  ModelEvent NewEvent();
  void Commit(std::size_t open);
  void Send(const ModelTransaction& transaction);
  std::string Keepalive();

  Dice& dice_;
  const bool with_poison_;
  std::uint64_t wal_end_ = 0x1000;
  std::uint32_t next_xid_ = 700;
  std::uint64_t next_id_ = 1;
  std::vector<OpenTransaction> open_;
  std::vector<ModelTransaction> committed_;
  std::map<std::string, ModelEvent> known_;  // by id, committed or not

  std::uint64_t confirmed_flush_ = 0x1000;
  std::uint64_t saved_ = 0x1000;  // what a checkpoint wrote of it

  // The session.
  std::deque<std::string> outgoing_;
  std::size_t next_transaction_ = 0;
  std::uint64_t announced_ = 0;
  std::set<std::uint64_t> positions_;  // that may be confirmed: ends of transactions, walEnds
  bool inside_ = false;                // between a Begin and a Commit that were handed out
  bool described_ = false;             // the relation, in this session
  std::uint64_t sent_end_ = 0;         // of the newest transaction handed out whole
};

}  // namespace walpost::simulation
