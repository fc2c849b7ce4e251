#include "verbs.h"

#include <unistd.h>

#include <iostream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace walpost {
namespace {

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace

absl::StatusOr<ConfigSources> SourcesOf(const ConfigArgs& args, std::vector<Flag> more) {
  RETURN_IF_ERROR(CheckConnectionFlags(args.connection));
  ConfigSources sources{args.file, ProcessEnvironment(), {}, args.connection};
  for (const std::string& setting : args.settings) {
    ASSIGN_OR_RETURN(Flag flag, ParseSetFlag(setting));
    sources.flags.push_back(std::move(flag));
  }
  sources.flags.insert(sources.flags.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
  return sources;
}

int Fail(const absl::Status& status) {
  std::cerr << "walpost: " << MessageOf(status) << "\n";
  const std::string hint = HintOf(status);
  if (!hint.empty()) std::cerr << "HINT: " << hint << "\n";
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace walpost
