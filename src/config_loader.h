// From a TOML file, the environment and flags to Settings. What the keys mean is config.cc's
// affair.
//
// Precedence: flag > environment > file > default; tables are merged entry by entry. The
// environment's name of SECTION.KEY is WALPOST_SECTION__KEY. References (interpolation.h) are
// expanded in the strings of the file only: a shell expands the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/settings.h"
#include "interpolation.h"

namespace walpost {

// A value from the command line.
struct Flag {
  std::string key;  // "source.slot"
  std::string value;
  std::string origin;                  // "--slot", "--set"
  std::vector<std::string> list = {};  // of a flag that may be repeated, instead of `value`
};

// "SECTION.KEY=VALUE" of --set. Errors: kInvalidArgument with the exit code of a usage error.
absl::StatusOr<Flag> ParseSetFlag(std::string_view text);

// Every mistake is one line that names key, origin and fix, with the exit code of a configuration
// error: kInvalidArgument, or kFailedPrecondition for a file that can't be read. A list or table in
// a variable or flag is written as in the file: ["a", "b"], { name = "value" }; one string stands
// for a list of one. A variable WALPOST_X__Y that names no key is an error too; other variables are
// not looked at.
absl::StatusOr<Settings> LoadSettings(std::vector<KeySpec> specs, const std::string& file,
                                      const Environment& environment,
                                      const std::vector<Flag>& flags);

}  // namespace walpost
