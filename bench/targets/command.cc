// Any other relay: cmd:SCRIPT is run as SCRIPT BOOTSTRAP PGPORT DB SLOT PUBLICATION TOPIC.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "targets/target.h"

namespace walpost::bench {
namespace {

class ScriptTarget : public Target {
 public:
  explicit ScriptTarget(std::string_view name) : name_(name), script_(name.substr(4)) {}
  std::string name() const override { return name_; }
  std::string about() const override { return absl::StrCat("the relay that ", script_, " starts"); }
  absl::StatusOr<std::string> Version() const override {
    if (!std::filesystem::exists(script_)) {
      return WithHint(
          Error(absl::StatusCode::kFailedPrecondition, absl::StrCat("there is no ", script_)),
          "cmd:SCRIPT names an executable file; it gets BOOTSTRAP PGPORT DB SLOT PUBLICATION "
          "TOPIC");
    }
    return script_;
  }
  absl::StatusOr<Command> Prepare(const Assignment& assignment) const override {
    return Command{.argv = {std::filesystem::absolute(script_), assignment.bootstrap,
                            assignment.postgres->port(), "postgres", assignment.slot,
                            assignment.publication, assignment.topic},
                   .environment = {{"PGHOST", "127.0.0.1"}, {"PGUSER", "postgres"}}};
  }

 private:
  const std::string name_, script_;
};

}  // namespace

std::unique_ptr<Target> MakeCommand(const Programs&, std::string_view name) {
  return std::make_unique<ScriptTarget>(name);
}

}  // namespace walpost::bench
