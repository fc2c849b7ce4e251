#include "base/retry.h"

#include <algorithm>

namespace walpost {

absl::Duration Backoff::Next(absl::Duration least) {
  absl::Duration bound = options_.first;
  for (int i = 0; i < attempts_ && bound < options_.most; ++i) bound *= 2;
  bound = std::min(bound, options_.most);
  if (bound < options_.most) ++attempts_;
  std::uniform_real_distribution<double> share(0.5, 1.0);
  return std::max(bound * share(random_), least);
}

}  // namespace walpost
