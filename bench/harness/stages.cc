#include "harness/stages.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace walpost::bench {

absl::StatusOr<std::vector<Stages>> ReadStages(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input)
    return Error(absl::StatusCode::kFailedPrecondition, absl::StrCat("there is no ", file));
  std::vector<Stages> all;
  Stages one;
  while (input.read(reinterpret_cast<char*>(&one), sizeof one)) all.push_back(one);
  return all;
}

}  // namespace walpost::bench
