// CHECK for walpost's own invariants: on in release, since a relay that goes on with a broken one
// loses events. Never for the environment, the network or the configuration; those are statuses.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace walpost {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "walpost: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace walpost

#define WALPOST_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::walpost::CheckFailed(__FILE__, __LINE__, #condition))
