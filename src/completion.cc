#include "completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace walpost {
namespace {

std::string Joined(const CompletionWords& words) {
  const std::string verbs = absl::StrJoin(words.verbs, " ");
  const std::string options = absl::StrJoin(words.options, " ");
  return verbs.empty() ? options : absl::StrCat(verbs, " ", options);
}

// The verbs so far are the words before the cursor that aren't options; their values are files.
std::string Bash(const std::vector<CompletionWords>& words) {
  std::string cases;
  for (const CompletionWords& entry : words) {
    absl::StrAppend(&cases, "    '", entry.path, "') words='", Joined(entry), "' ;;\n");
  }
  return absl::StrCat(R"(_walpost() {
  local word path='' words='' current="${COMP_WORDS[COMP_CWORD]}"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      -*) break ;;
      *) path="${path:+$path }$word" ;;
    esac
  done
  case "$path" in
)",
                      cases, R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _walpost walpost
)");
}

std::string Zsh(const std::vector<CompletionWords>& words) {
  return absl::StrCat("#compdef walpost\nautoload -U +X bashcompinit && bashcompinit\n",
                      Bash(words));
}

std::string Fish(const std::vector<CompletionWords>& words) {
  std::string script =
      "function __walpost_path\n"
      "  set -l path\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    string match -q -- '-*' $word; and break\n"
      "    set path $path $word\n"
      "  end\n"
      "  string join ' ' -- $path\n"
      "end\n";
  for (const CompletionWords& entry : words) {
    const std::string when =
        absl::StrCat("complete -c walpost -n 'test \"(__walpost_path)\" = \"", entry.path, "\"'");
    if (!entry.verbs.empty()) {
      absl::StrAppend(&script, when, " -f -a '", absl::StrJoin(entry.verbs, " "), "'\n");
    }
    for (const std::string& option : entry.options) {
      absl::StrAppend(&script, when, " -l ", option.substr(2), "\n");
    }
  }
  return script;
}

}  // namespace

std::string CompletionScript(std::string_view shell, const std::vector<CompletionWords>& words) {
  if (shell == "fish") return Fish(words);
  return shell == "zsh" ? Zsh(words) : Bash(words);
}

}  // namespace walpost
