// Status helpers: building one from parts, a HINT for the operator, the exit code it leads to.
//
// The codes and what each asks of the caller are listed in src/STYLE.md, "Errors".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/exit_code.h"
#include "base/string_view.h"

namespace walpost {

// A status of `code` with `message`: lower case, no full stop, the values that matter.
absl::Status Error(absl::StatusCode code, std::string_view message);

// `status` with one sentence on what the operator should type or change. Replaces an older hint.
absl::Status WithHint(absl::Status status, std::string_view hint);
std::string HintOf(const absl::Status& status);  // "" if none

// `status` with the exit code a verb should end with, where the code alone doesn't decide it.
absl::Status WithExitCode(absl::Status status, ExitCode code);

// The attached exit code, else the one that the status code stands for.
ExitCode ExitCodeOf(const absl::Status& status);

// `context` + ": " + the message; hint and exit code are kept. OK stays OK.
absl::Status WithContext(const absl::Status& status, std::string_view context);

inline std::string_view MessageOf(const absl::Status& status) { return ToStd(status.message()); }

}  // namespace walpost

// Returns early with the status if `expression` isn't OK.
#define RETURN_IF_ERROR(expression)                    \
  do {                                                 \
    absl::Status walpost_status_ = (expression);       \
    if (!walpost_status_.ok()) return walpost_status_; \
  } while (false)

// `ASSIGN_OR_RETURN(auto x, F())` declares x from a StatusOr, or returns its status.
#define ASSIGN_OR_RETURN(declaration, expression) \
  WALPOST_ASSIGN_OR_RETURN_(WALPOST_CONCAT_(walpost_or_, __LINE__), declaration, expression)
#define WALPOST_ASSIGN_OR_RETURN_(temporary, declaration, expression) \
  auto temporary = (expression);                                      \
  if (!temporary.ok()) return std::move(temporary).status();          \
  declaration = std::move(temporary).value()
#define WALPOST_CONCAT_(a, b) WALPOST_CONCAT_INNER_(a, b)
#define WALPOST_CONCAT_INNER_(a, b) a##b
