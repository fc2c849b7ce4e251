#include "outbox/name_patterns.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/string_view.h"

namespace walpost::outbox {

absl::StatusOr<NamePatterns> NamePatterns::Make(std::string_view key,
                                                const std::vector<std::string>& patterns) {
  NamePatterns result;
  for (const std::string& pattern : patterns) {
    try {
      result.patterns_.emplace_back(pattern, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
      return absl::InvalidArgumentError(absl::StrCat(
          ToAbsl(key), ": '", pattern, "' isn't a regular expression: ", error.what()));
    }
  }
  return result;
}

bool NamePatterns::Matches(std::string_view name) {
  if (name.size() > limits::kNameBytes) return false;
  const auto known = verdicts_.find(name);
  if (known != verdicts_.end()) return known->second;
  if (verdicts_.size() >= limits::kNameVerdicts) verdicts_.clear();
  std::string owned(name);
  const bool matches = Match(owned);
  verdicts_.emplace(std::move(owned), matches);
  return matches;
}

bool NamePatterns::Match(const std::string& name) const {
  for (const std::regex& pattern : patterns_) {
    try {
      if (std::regex_match(name, pattern)) return true;
    } catch (const std::regex_error&) {
      // Too much work or stack for this name: not known to be allowed.
      return false;
    }
  }
  return false;
}

}  // namespace walpost::outbox
