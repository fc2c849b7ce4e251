// What is fed with any bytes: every parser that reads what another side wrote. A target returns
// normally or the process dies, which is the finding.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace walpost::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view input);
  std::vector<std::string> (*seeds)();
};

// frame     one CopyData message
// stream    a session: messages with a length of two bytes each before them, so that a Relation is
//           followed by rows that don't fit it
// value     type OID (4 bytes), kind (1), then a column's value, read in each way there is
// message   a logical message: envelope or JSON
// config    a configuration file
std::span<const Target> Targets();

}  // namespace walpost::fuzz
