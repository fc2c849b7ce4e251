// Completion scripts for shells, from the tree of verbs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace walpost {

// What may follow `path` ("", "config", "config show").
struct CompletionWords {
  std::string path;
  std::vector<std::string> verbs;
  std::vector<std::string> options;
};

// `shell`: bash, zsh or fish. Words must be plain: letters, digits, dashes.
std::string CompletionScript(std::string_view shell, const std::vector<CompletionWords>& words);

}  // namespace walpost
