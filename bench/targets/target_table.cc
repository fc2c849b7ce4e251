#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "targets/target.h"

namespace walpost::bench {

const std::vector<TargetRow>& Targets() {
  static const std::vector<TargetRow> rows = {
      {"walpost", MakeWalpost},        {"walpost-bundled", MakeWalpost},
      {"walpost-json", MakeWalpost},   {"walpost-payload", MakeWalpost},
      {"walpost-null", MakeWalpost},   {"walpost-traced", MakeWalpost},
      {"walpost-slowed", MakeWalpost}, {"walpost-lossy", MakeWalpost},
      {"reader-poll", MakeReader},     {"reader-50us", MakeReader},
      {"reader-200us", MakeReader},    {"pg_recvlogical", MakePgRecvlogical},
      {"poll-2s-50", MakePoller},      {"poll-1s-100-claim", MakePoller},
      {"poll-5s-sweep", MakePoller},   {"poll-100-skip-locked", MakePoller},
      {"debezium", MakeDebezium},      {"debezium-tuned", MakeDebezium},
  };
  return rows;
}

absl::StatusOr<std::unique_ptr<Target>> MakeTarget(const std::string& name,
                                                   const Programs& programs) {
  if (name.starts_with("cmd:")) return MakeCommand(programs, name);
  for (const TargetRow& row : Targets()) {
    if (row.name == name) return row.make(programs, row.name);
  }
  const auto add_name = [](std::string* out, const TargetRow& row) { out->append(row.name); };
  return WithHint(
      Error(absl::StatusCode::kInvalidArgument, absl::StrCat("no target is named '", name, "'")),
      absl::StrCat("one of ", absl::StrJoin(Targets(), ", ", add_name), ", cmd:SCRIPT"));
}

absl::StatusOr<std::string> WriteFile(const std::string& directory, const std::string& name,
                                      const std::string& text) {
  std::string path = directory + "/" + name;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file)
    return Error(absl::StatusCode::kFailedPrecondition, absl::StrCat("cannot write ", path));
  return path;
}

}  // namespace walpost::bench
