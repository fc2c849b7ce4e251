#include "interpolation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status.h"

namespace walpost {
namespace {

absl::Status Invalid(std::string_view message) {
  return Error(absl::StatusCode::kInvalidArgument, message);
}

absl::StatusOr<std::string> ReadValueFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Invalid(absl::StrCat("can't read ", path, ": ", std::strerror(errno)));
  const absl::Cleanup close_it = [fd] { close(fd); };
  struct stat found {};
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
    return Invalid(absl::StrCat(path, " is not a regular file"));
  }
  if ((found.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
    return Invalid(absl::StrCat(path, " is open to others on this host; run chmod 0400 ", path));
  }
  if (found.st_uid != 0 && found.st_uid != geteuid()) {
    return Invalid(absl::StrCat(path, " belongs to another user; make it root's or this user's"));
  }
  std::string content(limits::kValueFileBytes + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = read(fd, content.data() + size, content.size() - size);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Invalid(absl::StrCat("can't read ", path, ": ", std::strerror(errno)));
    size += static_cast<std::size_t>(got);
  }
  if (size > limits::kValueFileBytes) {
    return Invalid(absl::StrCat(path, " is larger than ", limits::kValueFileBytes, " bytes"));
  }
  content.resize(size);
  // Editors and echo end a file with a newline that is no part of the secret.
  if (!content.empty() && content.back() == '\n') content.pop_back();
  if (!content.empty() && content.back() == '\r') content.pop_back();
  if (content.empty()) return Invalid(absl::StrCat(path, " is empty; write the value into it"));
  return content;
}

// The offset of the brace that closes the one before `text`, or npos.
std::size_t ClosingBrace(std::string_view text) {
  int open = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "${") {
      ++open;
    } else if (text[i] == '}' && --open == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

bool IsVariableName(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

absl::StatusOr<std::string> Expand(std::string_view text, const Environment& environment, int depth,
                                   Escape escape = nullptr);

// `body` is what stands between the braces.
absl::StatusOr<std::string> Resolve(std::string_view body, const Environment& environment,
                                    int depth) {
  constexpr std::string_view kFile = "file:";
  if (body.substr(0, kFile.size()) == kFile) {
    ASSIGN_OR_RETURN(const std::string path, Expand(body.substr(kFile.size()), environment, depth));
    return ReadValueFile(path);
  }
  const std::size_t colon = body.find(":-");
  const std::string_view name = body.substr(0, colon);
  if (!IsVariableName(name)) {
    return Invalid(
        "a reference is ${VAR}, ${VAR:-default} or ${file:PATH}; write $${ for a literal ${");
  }
  const auto variable = environment.find(name);
  // As in a shell: with a default, an empty variable counts as absent.
  if (colon != std::string_view::npos) {
    if (variable != environment.end() && !variable->second.empty()) return variable->second;
    return Expand(body.substr(colon + 2), environment, depth);
  }
  if (variable == environment.end()) {
    return Invalid(absl::StrCat("the environment variable ", ToAbsl(name),
                                " is not set; set it or write ${", ToAbsl(name), ":-default}"));
  }
  return variable->second;
}

absl::StatusOr<std::string> Expand(std::string_view text, const Environment& environment, int depth,
                                   Escape escape) {
  if (depth > limits::kReferenceDepth) return Invalid("references are nested too deeply");
  std::string result;
  while (!text.empty()) {
    if (text.substr(0, 3) == "$${") {
      result += "${";
      text.remove_prefix(3);
    } else if (text.substr(0, 2) == "${") {
      text.remove_prefix(2);
      const std::size_t end = ClosingBrace(text);
      if (end == std::string_view::npos) return Invalid("a ${ without its }");
      ASSIGN_OR_RETURN(const std::string value,
                       Resolve(text.substr(0, end), environment, depth + 1));
      result += escape != nullptr ? escape(result, value) : value;
      text.remove_prefix(end + 1);
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<std::string> ExpandReferences(std::string_view text, const Environment& environment,
                                             Escape escape) {
  return Expand(text, environment, 0, escape);
}

}  // namespace walpost
