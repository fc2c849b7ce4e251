// walpost version: what this build is and what it was linked with.
#include <google/protobuf/stubs/common.h>

#include <iostream>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "base/pq.h"
#include "build_info.h"
#include "sink/kafka/library_version.h"
#include "verbs.h"

namespace walpost {
namespace {

std::string AbseilVersion() {
#ifdef ABSL_LTS_RELEASE_VERSION
  return absl::StrCat(ABSL_LTS_RELEASE_VERSION, ".", ABSL_LTS_RELEASE_PATCH_LEVEL);
#else
  return "head";
#endif
}

}  // namespace

std::string VersionText() {
  return absl::StrCat("walpost ", kVersion, " (", kCommit, ")\nlibpq ", PqLibraryVersion(),
                      "\nlibrdkafka ", sink::KafkaLibraryVersion(), "\nprotobuf ",
                      google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION),
                      "\nabseil ", AbseilVersion());
}

int VerbVersion(const VersionArgs&) {
  std::cout << VersionText() << "\n";
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace walpost
