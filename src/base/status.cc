#include "base/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace walpost {
namespace {

constexpr char kHintUrl[] = "walpost/hint";
constexpr char kExitCodeUrl[] = "walpost/exit-code";

ExitCode ExitCodeFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUndelivered;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitCode::kNoPermission;
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAborted:
      return ExitCode::kData;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
      return ExitCode::kConfiguration;
    default:
      return ExitCode::kInternal;
  }
}

}  // namespace

absl::Status Error(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, ToAbsl(message));
}

absl::Status WithHint(absl::Status status, std::string_view hint) {
  if (!status.ok()) status.SetPayload(kHintUrl, absl::Cord(ToAbsl(hint)));
  return status;
}

std::string HintOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kHintUrl);
  return payload ? std::string(*payload) : std::string();
}

absl::Status WithExitCode(absl::Status status, ExitCode code) {
  if (!status.ok()) {
    status.SetPayload(kExitCodeUrl, absl::Cord(absl::StrCat(static_cast<int>(code))));
  }
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kExitCodeUrl)) {
    int number = 0;
    if (absl::SimpleAtoi(std::string(*payload), &number)) return static_cast<ExitCode>(number);
  }
  return ExitCodeFor(status.code());
}

absl::Status WithContext(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(ToAbsl(context), ": ", status.message()));
  status.ForEachPayload([&result](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

}  // namespace walpost
