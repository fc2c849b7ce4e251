#include "harness/correctness.h"

#include <algorithm>
#include <unordered_map>

namespace walpost::bench {

nlohmann::json Correctness::ToJson() const {
  return {{"ok", ok()},     {"committed", committed},   {"delivered", delivered},
          {"lost", lost},   {"behind", behind},         {"phantom", phantom},
          {"split", split}, {"duplicates", duplicates}, {"out_of_order", out_of_order}};
}

Correctness Check(const Deliveries& deliveries, const std::vector<bool>& committed,
                  const std::function<std::int64_t(std::int64_t)>& key_of, bool at_rest) {
  Correctness check;
  check.phantom = deliveries.strangers;
  // Partitions arrive interleaved; a key must have one, and the order within it is the topic's.
  std::unordered_map<std::int64_t, std::int64_t> newest;  // of each key
  std::unordered_map<std::int64_t, std::int32_t> partition;
  for (const std::int64_t number : deliveries.arrivals) {
    const std::int32_t here = deliveries.sightings[static_cast<std::size_t>(number)].partition;
    const auto [first, is_first] = partition.try_emplace(key_of(number), here);
    if (!is_first && first->second != here) ++check.split;
    const auto [known, added] = newest.try_emplace(key_of(number), number);
    if (!added && number < known->second) ++check.out_of_order;
    known->second = std::max(known->second, number);
  }
  for (std::size_t n = 0; n < deliveries.sightings.size(); ++n) {
    const std::int32_t times = deliveries.sightings[n].times;
    if (n >= committed.size() || !committed[n]) {
      check.phantom += times;
      continue;
    }
    ++check.committed;
    check.delivered += times > 0 ? 1 : 0;
    check.duplicates += std::max(0, times - 1);
    if (times > 0) continue;
    const auto number = static_cast<std::int64_t>(n);
    const auto known = newest.find(key_of(number));
    const bool overtaken = known != newest.end() && known->second > number;
    ++(at_rest || overtaken ? check.lost : check.behind);
  }
  return check;
}

}  // namespace walpost::bench
