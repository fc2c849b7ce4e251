// The guarantees, checked after each step against what Postgres committed and what the broker holds.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model_broker.h"
#include "model_postgres.h"

namespace walpost::simulation {

class Judge {
 public:
  explicit Judge(const ModelPostgres& postgres) : postgres_(postgres) {}

  void OnLanded(const Landed& landed);
  // The slot's confirmed position rose to `flush`.
  void OnConfirmed(std::uint64_t flush);
  // A session begins: from `confirmed` on everything may come again.
  void OnSession(std::uint64_t confirmed) { session_starts_.push_back(confirmed); }
  // From now on nothing may come twice that has not landed twice yet.
  void ForbidDuplicates() { duplicates_forbidden_ = true; }
  // All committed events must have landed.
  void AtTheEnd();

  void Accuse(const std::string& what) {
    if (verdict_.empty()) verdict_ = what;
  }
  const std::string& verdict() const { return verdict_; }  // "" while all is well
  std::uint64_t landed() const { return landed_; }
  std::uint64_t duplicates() const { return duplicates_; }

 private:
  struct Place {
    std::size_t transaction;
    std::size_t event;
  };
  struct State {
    bool landed = false;
    std::size_t sessions = 0;  // that had begun when it landed first
  };
  void LearnCommitted();
  bool Delivered(std::size_t transaction);

  const ModelPostgres& postgres_;
  std::size_t learned_ = 0;                   // committed transactions that are in places_
  std::map<std::string, Place> places_;       // by walpost-lsn
  std::map<std::string, State> states_;       // by walpost-lsn
  std::map<std::string, Place> last_of_key_;  // the newest first delivery
  std::size_t confirmed_transactions_ = 0;
  std::vector<std::uint64_t> session_starts_;
  bool duplicates_forbidden_ = false;
  std::uint64_t landed_ = 0;
  std::uint64_t duplicates_ = 0;
  std::string verdict_;
};

}  // namespace walpost::simulation
