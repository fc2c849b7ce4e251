// "Is this name allowed?" asked for every event, without running a regular expression for every
// event.
#pragma once

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost::outbox {

// A set of regular expressions (ECMAScript), each over the whole name. Verdicts are remembered.
// Thread: loop only.
class NamePatterns {
 public:
  // Errors: kInvalidArgument names `key`, the configuration key the patterns come from.
  static absl::StatusOr<NamePatterns> Make(std::string_view key,
                                           const std::vector<std::string>& patterns);

  // Whether any pattern matches. Names longer than limits::kNameBytes never match.
  bool Matches(std::string_view name);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  bool Match(const std::string& name) const;

  std::vector<std::regex> patterns_;
  std::unordered_map<std::string, bool, Hash, std::equal_to<>> verdicts_;
};

}  // namespace walpost::outbox
