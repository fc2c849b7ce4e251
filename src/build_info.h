// What this build is. Filled in by meson (build_info.cc.in).
#pragma once

namespace walpost {

extern const char kVersion[];  // "0.1.0"
extern const char kCommit[];   // "1a2b3c4", or the version where the sources are no checkout

}  // namespace walpost
