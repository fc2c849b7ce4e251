#include "judge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "outbox/origin.h"

namespace walpost::simulation {
namespace {

std::string NameOf(const ModelTransaction& transaction, std::size_t event) {
  return std::string(outbox::TextOf(
      outbox::FormatPosition(Lsn(transaction.commit_lsn), static_cast<std::uint32_t>(event))));
}

}  // namespace

void Judge::LearnCommitted() {
  for (; learned_ < postgres_.committed().size(); ++learned_) {
    const ModelTransaction& transaction = postgres_.committed()[learned_];
    for (std::size_t event = 0; event < transaction.events.size(); ++event) {
      places_[NameOf(transaction, event)] = {learned_, event};
    }
  }
}

void Judge::OnLanded(const Landed& landed) {
  LearnCommitted();
  ++landed_;
  const auto found = places_.find(landed.position);
  if (found == places_.end()) return Accuse("G2: an event that was not committed: " + landed.id);
  const Place place = found->second;
  const ModelTransaction& transaction = postgres_.committed()[place.transaction];
  const ModelEvent& event = transaction.events[place.event];
  if (event.poison != Poison::kUnmappable && landed.id != event.id) {
    return Accuse(absl::StrCat("G2: ", event.id, " was published as ", landed.id));
  }
  if (landed.dead_letter != (event.poison != Poison::kNone)) {
    return Accuse(absl::StrCat(event.id, landed.dead_letter ? " is no poison" : " is poison"));
  }
  State& state = states_[landed.position];
  if (state.landed) {
    ++duplicates_;
    const bool explained =
        std::any_of(session_starts_.begin() + static_cast<std::ptrdiff_t>(state.sessions),
                    session_starts_.end(),
                    [&](std::uint64_t confirmed) { return confirmed < transaction.end_lsn; });
    if (!explained || duplicates_forbidden_) Accuse(absl::StrCat("G4: a second ", event.id));
    return;
  }
  state = {true, session_starts_.size()};
  if (landed.dead_letter) return;
  const auto [last, first] = last_of_key_.try_emplace(event.key, place);
  if (!first) {
    const Place before = last->second;
    if (place.transaction < before.transaction ||
        (place.transaction == before.transaction && place.event < before.event)) {
      Accuse(absl::StrCat("G3: ", event.id, " of ", event.key, " comes after a later one"));
    }
    last->second = place;
  }
}

bool Judge::Delivered(std::size_t index) {
  const ModelTransaction& transaction = postgres_.committed()[index];
  for (std::size_t event = 0; event < transaction.events.size(); ++event) {
    const auto state = states_.find(NameOf(transaction, event));
    if (state != states_.end() && state->second.landed) continue;
    Accuse(absl::StrCat("G1: ", transaction.events[event].id, " is not at the broker"));
    return false;
  }
  return true;
}

void Judge::OnConfirmed(std::uint64_t flush) {
  while (confirmed_transactions_ < postgres_.committed().size() &&
         postgres_.committed()[confirmed_transactions_].end_lsn <= flush) {
    if (!Delivered(confirmed_transactions_++)) {
      Accuse(absl::StrCat("G1: confirmed through ", flush));
      return;
    }
  }
}

void Judge::AtTheEnd() {
  for (std::size_t i = 0; i < postgres_.committed().size(); ++i) {
    if (!Delivered(i)) return;
  }
}

}  // namespace walpost::simulation
